// What the model is told of a command that a crash of Odin left without a result.

import type { ToolResponse } from '../../shared/define-tool.ts';
import { cancelled, fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { Scrub } from '../../shared/scrub.ts';
import { commandText } from '../../tools/command-text.ts';
import type { CommandIntent } from './command-intent.ts';
import type { Commands } from './commands.ts';

/** Null when nobody can know whether it ran. `signal` stops one that runs still. */
export async function finishCommand(
  commands: Commands,
  sid: string,
  intent: CommandIntent,
  scrub: Scrub,
  signal: AbortSignal,
): Promise<Outcome<ToolResponse> | null> {
  const resumed = await commands.resume(sid, intent, signal);
  if (resumed.kind === 'unknown') return null;
  if (signal.aborted || (resumed.kind === 'ended' && resumed.result.stopped === 'cancelled')) return cancelled();
  if (resumed.kind === 'never ran' || intent.background) {
    const state =
      resumed.kind === 'never ran' ? 'before this command began; it did not run' : 'and this command with it';
    return fail('failed', 'interrupted', `Odin was stopped ${state}. Run it again if it is still needed.`);
  }
  const { how, result } = resumed;
  const { exitCode, cwdAfter, outputPath, output, id } = result;
  const what = result.stopped === null ? INTERRUPTED[how] : 'Odin was interrupted while this ran.';
  const text = `${what}\n${commandText(result)}`;
  // As without the interruption: what was stopped has failed.
  if (result.stopped !== null) return fail('failed', result.stopped, scrub(text));
  const data = { id, exitCode, cwd: cwdAfter, outputPath, outputBytes: output.bytes };
  return ok({ text: scrub(text), description: `Exit ${exitCode}, after an interruption of Odin`, data });
}

const INTERRUPTED = {
  before: 'Odin was interrupted while this ran; it ran to its end, once.',
  attached: 'Odin was interrupted while this ran, and waited for its end after that; it ran once.',
  'ran now': 'Odin was interrupted before this began; it ran now, once.',
} as const;
