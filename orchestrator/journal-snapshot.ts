// The folds of a long journal, kept in <home>/snapshots/ID between messages, so that going on with a session does not cost more the
// longer it is. A cache and nothing else: it says by which folds it was made, up to which event, and the hash of its content, and
// whatever is not as expected is ignored and the journal is folded from its beginning.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { AGENT_MACHINE } from '../machines/agent/machine.ts';
import { JOURNAL_VERSION } from '../shared/events.ts';
import { sha256, ulid } from '../shared/ids.ts';
import { emptyMemory, type SessionMemory } from './session-memory.ts';

/** Raised with every change of what a fold makes of the same events; the golden journals notice when it was forgotten. */
export const FOLD_VERSION = 5;

// V8's own form: reading it takes a third of the time that JSON does, and another V8 makes another one.
const MADE_BY = `folds@${FOLD_VERSION} journal@${JOURNAL_VERSION} ${AGENT_MACHINE} v8@${process.versions.v8}`;

export interface Snapshots {
  read(sid: string): SessionMemory | null;
  /** Keeps the folds of a session that is between two messages. */
  write(sid: string, memory: SessionMemory): void;
}

export function openSnapshots(home: string): Snapshots {
  const folder = join(home, 'snapshots');
  const pathOf = (sid: string): string => join(folder, sid);
  return {
    read(sid) {
      const path = pathOf(sid);
      if (!existsSync(path)) return null;
      try {
        const bytes = readFileSync(path);
        const end = bytes.indexOf('\n');
        const body = bytes.subarray(end + 1);
        const head = JSON.parse(bytes.toString('utf8', 0, end)) as {
          readonly madeBy?: string;
          readonly sha256?: string;
        };
        if (head.madeBy !== MADE_BY || head.sha256 !== sha256(body)) return null;
        return { ...emptyMemory(sid), ...(deserialize(body) as Kept) };
      } catch {
        return null;
      }
    },
    write(sid, memory) {
      const body = serialize(kept(memory));
      const draft = `${pathOf(sid)}.${ulid()}`;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const head = JSON.stringify({ madeBy: MADE_BY, upTo: memory.upTo, sha256: sha256(body) });
        writeFileSync(draft, Buffer.concat([Buffer.from(`${head}\n`), body]), { flag: 'wx', mode: 0o600 });
        renameSync(draft, pathOf(sid));
      } catch {
        // Without it the journal is folded: slower, and the same.
        rmSync(draft, { force: true });
      }
    },
  };
}

type Kept = Omit<SessionMemory, 'told' | 'prompt'>;

/**
 * What the folds of a journal come to. `told` and `prompt` are what a process remembers beside them; one that reads the journal begins
 * without them too.
 */
export function kept({ told: _, prompt: __, ...folds }: SessionMemory): Kept {
  return folds;
}
