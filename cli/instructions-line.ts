// Which instruction files are in use, in one line: in a run's first lines and in `odin doctor`.

import { cleanLine } from '../shared/clean-text.ts';
import type { InstructionFile } from '../shared/events.ts';

const NOT_TRUSTED = 'not trusted: taken as information; `odin trust` changes that';

/** `ODIN.md, AGENTS.md (not trusted: …)`: what is said of several is said once, behind the last of them. */
export function instructionsLine({ instructions }: { readonly instructions: readonly InstructionFile[] }): string {
  const names = (trusted: boolean) =>
    instructions.filter((file) => file.trusted === trusted).map(({ path }) => cleanLine(path, 100));
  const foreign = names(false);
  const marked = foreign.length === 0 ? [] : [`${foreign.join(', ')} (${NOT_TRUSTED})`];
  return [...names(true), ...marked].join(', ');
}
