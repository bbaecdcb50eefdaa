// `odin run`: one message to its answer, or the line prompt when a terminal gives none.

import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import { drainQueue } from '../drain-queue.ts';
import { findSession } from '../find-session.ts';
import { openModels } from '../open-models.ts';
import { placeHere, withOdin } from '../place.ts';
import { readPrompt } from '../read-prompt.ts';
import { rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';
import { settingsOf } from '../settings.ts';

export interface RunOptions {
  readonly mode?: Mode;
  readonly model?: string;
  readonly smallModel?: string;
  readonly maxSteps?: number;
  readonly session?: string;
  readonly continue?: boolean;
  readonly json?: boolean;
}

export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const prompt = await readPrompt(words);
  if (prompt === null && options.json === true) {
    throw new UserError('--json needs a prompt: odin run --json "…", or pipe one in.');
  }
  const place = placeHere();
  const config = await settingsOf(place);
  const models = await openModels(options, config);
  const mode = options.mode ?? config.defaultMode;
  const limits = { maxSteps: options.maxSteps ?? config.maxSteps };
  const wanted = options.continue === true ? 'last' : (options.session ?? null);
  return await withOdin(place, models, async (odin) => {
    const isNew = wanted === null;
    const sid = isNew ? odin.newSession() : await findSession(odin, wanted);
    const json = options.json ?? false;
    const renderer = rendererHere({ json, showPrompts: false });
    if (prompt === null) {
      const { linePrompt } = await import('../line-prompt.ts');
      return await linePrompt(odin, {
        sid,
        isNew,
        mode,
        limits,
        models: { model: models.model, smallModel: models.smallModel },
        renderer,
        input: process.stdin,
        output: process.stdout,
      });
    }
    const { exitCode, endId } = await runMessage(odin, {
      sid,
      isNew,
      submit: { mode, body: prompt, limits, model: models.model, smallModel: models.smallModel },
      renderer,
    });
    if (endId !== null) await drainQueue(odin, sid, endId, rendererHere({ json, showPrompts: true, isAside: true }));
    return exitCode;
  });
}
