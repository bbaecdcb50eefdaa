// `odin tool`: runs one tool without a model, with its mode's rules. Its text on stdout, a failure on stderr. What a turn would ask about
// is asked at the terminal; without one it is refused, since a question outside of a session is in no journal to be answered from.

import type { Odin } from '../../orchestrator/api.ts';
import { cleanLine, cleanText } from '../../shared/clean-text.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import type { QuestionFeed } from '../ask-user.ts';
import { EXIT } from '../exit-codes.ts';
import { onInterrupt } from '../interrupts.ts';
import { isTerminal, permissionPolicy } from '../permission-options.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { rendererFor } from '../renderers.ts';
import { settingsOf } from '../settings.ts';

export interface ToolOptions {
  readonly mode?: Mode;
  readonly json?: boolean;
}

export async function tool(name: string, rawArgs: string | undefined, options: ToolOptions): Promise<number> {
  const args = parseArgs(rawArgs ?? '{}');
  const place = placeHere();
  const mode = options.mode ?? (await settingsOf(place)).defaultMode;
  const stop = new AbortController();
  const answering = isTerminal();
  const permission = await permissionPolicy({}, answering);
  const feed: QuestionFeed = { asker: null };
  const use = async (odin: Odin) => {
    const asking = rendererFor(odin, { json: false, showPrompts: false, isAside: true, answering, feed });
    return await odin.runTool(name, args, mode, stop.signal).finally(asking.close);
  };
  const offInterrupt = onInterrupt(() => stop.abort());
  try {
    const outcome = await withOdin(place, null, use, { permission, onQuestion: (seen) => feed.asker?.see(seen) });
    if (options.json === true) process.stdout.write(jsonLine(outcome));
    else if (outcome.ok) process.stdout.write(forThisOutput(`${outcome.value.text.replace(/\n$/, '')}\n`));
    if (outcome.ok) return EXIT.completed;
    if (options.json !== true)
      process.stderr.write(`odin: ${cleanText(outcome.failure.message)} (${cleanLine(outcome.failure.code)})\n`);
    return outcome.failure.kind === 'cancelled' ? EXIT.cancelled : EXIT.failed;
  } finally {
    offInterrupt();
  }
}

function parseArgs(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new UserError(
      `the arguments are not valid JSON (${(error as Error).message}). For example: odin tool Glob '{"pattern":"**/*.ts"}'`,
    );
  }
}

const forThisOutput = (text: string): string => (process.stdout.isTTY ? cleanText(text) : text);
