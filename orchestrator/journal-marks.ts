// How far each session's journal is known to have come, on this machine's own disk (DURABILITY 15, test 9). Redis that comes back
// with older data, restored from a dump or robbed of its last seconds by a crash, cannot say so itself: event ids just go back, and
// the effects of what it forgot would be made again. So the owner notes the newest id that Redis has acknowledged before anything
// is done on the strength of it, and a claim whose journal lacks that id is refused (scripts.ts).
// A mark is a hint that may lag, never one that runs ahead: a few bytes written over in place, not synced.

import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface Mark {
  /** Id of the newest event that Redis has acknowledged. */
  readonly id: string;
  /** The newest message that was begun. */
  readonly seq: number;
}

export interface Marks {
  read(sid: string): Mark | null;
  /** A pen for one epoch of one session. */
  open(sid: string, seq: number): MarkPen;
  /** Sessions that have a mark. */
  list(): Promise<readonly string[]>;
}

export interface MarkPen {
  note(id: string): void;
  close(): void;
}

/** Longer than any mark, so that a shorter one leaves nothing of the one before. */
const LINE = 48;

export function openMarks(home: string): Marks {
  const folder = join(home, 'marks');
  const pathOf = (sid: string): string => join(folder, sid);
  return {
    read(sid) {
      try {
        const [, id = '', seq] = /^(\d+-\d+) (\d+) *\n$/.exec(readFileSync(pathOf(sid), 'latin1')) ?? [];
        return id === '' ? null : { id, seq: Number(seq) };
      } catch {
        return null;
      }
    },
    open(sid, seq) {
      let fd: number | null = null;
      const write = (id: string): void => {
        fd ??= openForWriting(folder, pathOf(sid));
        writeSync(fd, `${`${id} ${seq}`.padEnd(LINE - 1)}\n`, 0, 'latin1');
      };
      return {
        // Where it cannot be noted, a full disk for one, the mark lags: less is noticed, nothing is wrong.
        note(id) {
          try {
            write(id);
          } catch {}
        },
        close() {
          if (fd !== null) closeSync(fd);
          fd = null;
        },
      };
    },
    list: () => readdir(folder).catch(() => []),
  };
}

function openForWriting(folder: string, path: string): number {
  try {
    return openSync(path, 'r+');
  } catch {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return openSync(path, 'w', 0o600);
  }
}
