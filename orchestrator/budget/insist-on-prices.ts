// A budget in money with a model whose price is not known is refused when the message is sent (SPEC E7), not when it is half done.

import { UserError } from '../../shared/outcome.ts';
import type { SubmitOptions } from '../api.ts';
import type { World } from '../world.ts';
import { unpricedText } from './limit-text.ts';

/** Throws UserError. Models that the process which runs the message will choose are that process' to check. */
export function insistOnPrices(
  { config, options, models }: Pick<World, 'config' | 'options' | 'models'>,
  limits: SubmitOptions['limits'] | undefined,
  { model, smallModel }: Pick<SubmitOptions, 'model' | 'smallModel'>,
): void {
  const { messageUsd, sessionUsd } = config.budget;
  if ((limits?.usd ?? messageUsd ?? sessionUsd) === undefined) return;
  const asked = new Set([model ?? options.models?.model, smallModel ?? options.models?.smallModel]);
  const unpriced = [...asked].filter((name) => name !== undefined).filter((name) => models.info(name).price === null);
  if (unpriced.length === 0) return;
  const text = unpricedText(unpriced);
  throw new UserError(`${text.charAt(0).toUpperCase()}${text.slice(1)}`);
}
