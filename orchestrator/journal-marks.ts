// How far each session's journal is known to have come, on this machine's own disk (DURABILITY 15, test 9). Redis that comes back
// with older data, restored from a dump or robbed of its last seconds by a crash, cannot say so itself: event ids just go back, and
// the effects of what it forgot would be made again. So the owner notes the newest id that Redis has acknowledged before anything
// is done on the strength of it, and a claim whose journal lacks that id is refused (scripts.ts).
// A mark is a hint that may lag, never one that runs ahead: a few bytes written over in place, not synced. All of them stand in one
// file, for a file for each would take longer to make than a message takes. Lines have one length; of two with the same session the first
// counts, so that all processes agree which one it is.

import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

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
  list(): readonly string[];
  /** The session is given up: it has no mark any more. */
  drop(sid: string): void;
}

export interface MarkPen {
  note(id: string): void;
  close(): void;
}

/** A line: session, id, number of the message, blanks. */
const LINE = 80;

/** One for all workspaces of this process: a worker with 500 tasks has 500 of them, and each would know every session of the home. */
const tables = new Map<string, ReturnType<typeof openTable>>();

export function openMarks(home: string): Marks {
  const path = join(home, 'marks', 'table');
  const table = tables.get(path) ?? openTable(path);
  tables.set(path, table);
  return {
    read(sid) {
      const [, id = '', seq] = /^\S+ (\d+-\d+) (\d+) *\n$/.exec(table.read(sid) ?? '') ?? [];
      return id === '' ? null : { id, seq: Number(seq) };
    },
    open(sid, seq) {
      let isOpen = true;
      table.hold();
      return {
        // Where it cannot be noted, a full disk for one, the mark lags: less is noticed, nothing is wrong.
        note(id) {
          try {
            table.write(sid, `${sid} ${id} ${seq}`);
          } catch {}
        },
        close() {
          if (isOpen) table.release();
          isOpen = false;
        },
      };
    },
    list: () => table.names(),
    drop: (sid) => table.write(sid, ''),
  };
}

/** Lines by their first word. The file is open while somebody holds it. */
function openTable(path: string) {
  /** Where the lines begin that are known so far, and where reading goes on. */
  const places = new Map<string, number>();
  let end = 0;
  let inode = 0;
  let fd: number | null = null;
  let holders = 0;

  const openFile = (flags: number): number => {
    if (fd !== null) return fd;
    fd = openSync(path, flags, 0o600);
    const { ino } = fstatSync(fd);
    if (ino !== inode) forget();
    inode = ino;
    return fd;
  };
  const forget = (): void => {
    places.clear();
    end = 0;
  };
  const closeFile = (): void => {
    if (fd !== null && holders === 0) {
      closeSync(fd);
      fd = null;
    }
  };

  /** Learns of the lines that have come, from this process or others. */
  const catchUp = (from: number): void => {
    const { size } = fstatSync(from);
    if (size < end) forget();
    if (size === end) return;
    const bytes = Buffer.alloc(size - end);
    const text = bytes.toString('latin1', 0, readSync(from, bytes, 0, bytes.length, end));
    let at = 0;
    for (let stop = text.indexOf('\n'); stop >= 0; stop = text.indexOf('\n', at)) {
      const name = text.slice(at, text.indexOf(' ', at));
      if (stop - at === LINE - 1 && name !== '' && !places.has(name)) places.set(name, end + at);
      at = stop + 1;
    }
    end += at;
  };

  const placeOf = (from: number, name: string): number | undefined => {
    if (!places.has(name)) catchUp(from);
    return places.get(name);
  };

  const add = (to: number, name: string, line: string): void => {
    // What a crash has left of a line spoils the next one, but not the one after.
    for (let tries = 0; tries < 2 && placeOf(to, name) === undefined; tries++) appendFileSync(path, line);
  };

  return {
    read(name: string): string | null {
      try {
        if (fd === null && !existsSync(path)) return null;
        const from = openFile(constants.O_RDWR);
        const place = placeOf(from, name);
        if (place === undefined) return null;
        const bytes = Buffer.alloc(LINE);
        return bytes.toString('latin1', 0, readSync(from, bytes, 0, LINE, place));
      } catch {
        return null;
      } finally {
        closeFile();
      }
    },
    /** Nothing of a name, or nothing at all, takes its line away. */
    write(name: string, text: string): void {
      const line = `${text.padEnd(LINE - 1)}\n`;
      if (line.length > LINE || /\s/.test(name)) return;
      try {
        if (fd === null && !existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        const to = openFile(constants.O_RDWR | constants.O_CREAT);
        const place = placeOf(to, name);
        if (place !== undefined) writeSync(to, line, place, 'latin1');
        else if (text !== '') add(to, name, line);
        if (text === '') places.delete(name);
      } finally {
        closeFile();
      }
    },
    names(): readonly string[] {
      try {
        if (!existsSync(path)) return [];
        const from = openFile(constants.O_RDWR);
        // Others take lines away too, and nobody is told.
        forget();
        catchUp(from);
        return [...places.keys()];
      } finally {
        closeFile();
      }
    },
    hold: () => void holders++,
    release() {
      holders -= 1;
      closeFile();
    },
  };
}
