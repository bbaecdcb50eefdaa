// `odin send`: queues a message in a session from another terminal (SPEC O6). It runs in whichever process runs the workspace.

import type { Mode } from '../../shared/modes.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { readPrompt } from '../read-prompt.ts';
import { jsonLine } from '../render-json.ts';
import { settingsOf } from '../settings.ts';

export interface SendOptions {
  readonly mode?: Mode;
  readonly maxSteps?: number;
  readonly json?: boolean;
}

export async function send(session: string, words: readonly string[], options: SendOptions): Promise<number> {
  const body = await readPrompt(words.length === 0 ? ['-'] : words);
  const place = placeHere();
  const config = await settingsOf(place);
  const mode = options.mode ?? config.defaultMode;
  return await withOdin(place, null, async (odin) => {
    const sid = await findSession(odin, session);
    const limits = { maxSteps: options.maxSteps ?? config.maxSteps };
    const { seq, position } = await odin.submit(sid, { mode, body: body ?? '', limits });
    if (options.json === true) {
      process.stdout.write(jsonLine({ session: sid, seq, position, mode }));
      return EXIT.completed;
    }
    process.stdout.write(`message ${seq} (${mode}) is at position ${position} in session ${sid}\n`);
    return EXIT.completed;
  });
}
