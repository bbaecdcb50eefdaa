// `odin send`: queues a message in a session from another terminal (SPEC O6). It runs in whichever process runs the workspace.

import { cleanLine } from '../../shared/clean-text.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import { type BudgetOptions, limitsOf } from '../budget-options.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { picturesOf } from '../message-images.ts';
import { placeHere, withOdin } from '../place.ts';
import { readPrompt } from '../read-prompt.ts';
import { jsonLine } from '../render-json.ts';
import { settingsOf } from '../settings.ts';

export interface SendOptions extends BudgetOptions {
  readonly mode?: Mode;
  readonly fallbackModel?: readonly string[];
  readonly image?: readonly string[];
  readonly json?: boolean;
}

export async function send(session: string, words: readonly string[], options: SendOptions): Promise<number> {
  const body = await readPrompt(words.length === 0 ? ['-'] : words, `odin send ${session} "then update the docs"`);
  const here = placeHere();
  const config = await settingsOf(here);
  const mode = options.mode ?? config.defaultMode;
  return await withOdin(here, null, async (odin) => {
    const sid = await findSession(odin, session);
    const limits = limitsOf(options, config);
    // Which model is asked the process that runs it knows; one that takes no pictures is told their names.
    const typed = words.length === 1 && words[0] === '-' ? '' : words.join(' ');
    const given = options.image === undefined ? {} : { files: options.image };
    const asked = { ...given, typed, model: null, cwd: here.cwd };
    const images = await picturesOf(asked, odin, (line) => process.stderr.write(`${line}\n`));
    const { seq, position } = await odin.submit(sid, {
      mode,
      body: body ?? '',
      limits,
      ...images,
      ...(options.fallbackModel === undefined ? {} : { fallbackModels: options.fallbackModel.map(wholeName) }),
    });
    if (options.json === true) {
      process.stdout.write(jsonLine({ session: sid, seq, position, mode }));
      return EXIT.completed;
    }
    const place = position === 0 ? 'is next' : `waits at position ${position}`;
    process.stdout.write(`message ${seq} (${mode}) of session ${sid} ${place}\n`);
    if (!(await odin.served())) process.stderr.write(`${howItIsDone(odin.root, sid)}\n`);
    return EXIT.completed;
  });
}

/** The process that runs it takes names as they are. */
function wholeName(model: string): string {
  if (/^[^/\s]+\/\S+$/.test(model)) return model;
  throw new UserError(
    `"${model}" does not say which provider to ask. Write provider/name: --fallback-model anthropic/${model}`,
  );
}

const howItIsDone = (root: string, sid: string): string =>
  `No Odin is open in ${cleanLine(root)} to do it. Open one: odin --session ${sid}`;
