// `odin answer`: answers a question from any terminal; the answer is durable and whoever runs the session takes it.

import { cleanLine } from '../../shared/clean-text.ts';
import type { PermissionDecision } from '../../shared/events.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere, withOdin } from '../place.ts';

export type Answer = 'allow' | 'session' | 'always' | 'deny';

const DECISIONS: Readonly<Record<Answer, PermissionDecision>> = {
  allow: 'allow',
  session: 'allow_session',
  always: 'allow_always',
  deny: 'deny',
};

export async function answer(id: string, given: Answer, { word }: { readonly word?: string }): Promise<number> {
  if (word !== undefined && given !== 'deny') throw new UserError('--word tells the model why not: it goes with deny.');
  return await withOdin(placeHere(), null, async (odin) => {
    const options = { by: 'odin answer', ...(word === undefined ? {} : { word }) };
    const { title, sid } = await odin.answer(id, DECISIONS[given], options);
    process.stdout.write(`${given}: ${cleanLine(title)} (session ${sid})\n`);
    if (!(await odin.served())) process.stderr.write(`It takes effect when an Odin goes on: odin --session ${sid}\n`);
    return EXIT.completed;
  });
}
