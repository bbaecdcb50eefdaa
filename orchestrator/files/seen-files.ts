// Which version of each file an agent goes by, as the fold of its own events: what a new process gives the agent's port
// (seen-versions.ts), so that what was read before a crash need not be read again to be changed. A formatter's version counts as the
// agent's own here, as it does for undo.

import type { JournalEvent } from '../../shared/events.ts';
import type { Json } from '../../shared/json.ts';

/** Hashes by real path. */
export type SeenFiles = Record<string, string>;

/** Takes in one more event. Those of the agent's subagents are not its own. */
export function noteSeenFiles(seen: SeenFiles, event: JournalEvent): void {
  if (event.type !== 'tool.done' || event.kind !== 'ok' || !isObject(event.data)) return;
  const { kind, path, version, afterHash, rebased, seen: several } = event.data;
  if (isObject(several)) for (const [file, hash] of Object.entries(several)) note(seen, file, hash, false);
  if (kind === 'file') note(seen, path, rebased === true ? null : afterHash, true);
  else note(seen, path, version, isWhole(event.data));
}

/** The port's own rule (seen-versions.ts): a part of a newer version leaves the rest as the agent knew it. */
function note(seen: SeenFiles, path: Json | undefined, hash: Json | undefined, whole: boolean): void {
  if (typeof path !== 'string' || typeof hash !== 'string') return;
  if (whole || !Object.hasOwn(seen, path)) seen[path] = hash;
}

const isWhole = ({ startLine, endLine, totalLines }: { readonly [key: string]: Json }): boolean =>
  startLine === 1 && endLine === totalLines;

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What an agent's own events, all of them, come to. */
export function seenFilesOf(events: readonly JournalEvent[]): SeenFiles {
  const seen: SeenFiles = {};
  for (const event of events) noteSeenFiles(seen, event);
  return seen;
}
