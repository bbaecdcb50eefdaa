// The folds of the sessions that this process runs: in memory while they are in use, from a snapshot and the end of the journal when
// they are taken up again, from the whole journal when there is neither (DURABILITY 5.3). It decides when a snapshot is due and
// writes it while nothing runs, or when a long journal had to be read.

import type { JournalEvent, Journaled } from '../shared/events.ts';
import type { Blobs } from './blobs.ts';
import type { Snapshots } from './journal-snapshot.ts';
import { withInlinePayload } from './payloads.ts';
import { emptyMemory, remember, type SessionMemory } from './session-memory.ts';

export interface Recalled {
  readonly memory: SessionMemory;
  /** The events of the message that is to run, from its msg.start on, if it was begun before. */
  readonly past: readonly JournalEvent[];
}

export interface SessionRecall {
  /** Up to where the session is known without its journal; undefined when it must be read from the beginning. */
  knownUpTo(sid: string): string | undefined;
  /** Folds what a claim has brought: the log after `after`, which is `knownUpTo` or '0'. */
  recall(
    message: { readonly sid: string; readonly seq: number },
    after: string,
    log: readonly Journaled[],
  ): Promise<Recalled>;
  /** A message has ended with so many events; its folds stay. */
  ended(sid: string, events: number): void;
  /** What is in memory is not what is in the journal. */
  drop(sid: string): void;
  /** Writes the snapshots that are due. */
  save(): void;
}

/** Sessions whose folds stay in memory, however long they are; and how much more does, in characters of their conversations. */
const KEPT_SESSIONS = 32;
const KEPT_CHARS = 16_000_000;
/** What the folds of a session take besides what is said in it. */
const BASE_CHARS = 4_000;
/** Events after which the next resume is worth a new snapshot. They cost it about 40 ms. */
const SNAPSHOT_EVENTS = 1000;
const IDLE_MS = 500;

export function createRecall(deps: {
  readonly blobs: Blobs;
  readonly snapshots: Snapshots;
  isRunning(sid: string): boolean;
  isIdle(): boolean;
  /** The session is in memory no more; what else is kept of it only helps while it is. */
  letGo?(sid: string): void;
}): SessionRecall {
  const { blobs, snapshots } = deps;
  const memories = new Map<string, SessionMemory>();
  /** Events since the snapshot. */
  const unsaved = new Map<string, number>();
  const sizes = createSizes();
  let timer: NodeJS.Timeout | null = null;

  const forget = (sid: string): void => {
    memories.delete(sid);
    unsaved.delete(sid);
    sizes.delete(sid);
  };

  const save = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const [sid, events] of unsaved) {
      const memory = memories.get(sid);
      if (!memory) unsaved.delete(sid);
      if (!memory || events < SNAPSHOT_EVENTS || deps.isRunning(sid) || memory.state.isExecuting) continue;
      snapshots.write(sid, memory);
      unsaved.set(sid, 0);
    }
  };

  const saveWhenIdle = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      if (deps.isIdle()) save();
      else saveWhenIdle();
    }, IDLE_MS).unref();
  };

  const forgetOldest = (): void => {
    for (const sid of memories.keys()) {
      if (memories.size <= KEPT_SESSIONS || sizes.sum() <= KEPT_CHARS) break;
      if (deps.isRunning(sid)) continue;
      forget(sid);
      deps.letGo?.(sid);
    }
  };

  return {
    knownUpTo(sid) {
      const memory = memories.get(sid) ?? snapshots.read(sid);
      if (memory) memories.set(sid, memory);
      return memory?.upTo;
    },
    async recall({ sid, seq }, after, log) {
      const known = memories.get(sid);
      const memory = known?.upTo === after ? known : emptyMemory(sid);
      const fresh: Journaled[] = [];
      for (const { id, event } of log) {
        fresh.push({ id, event: await withInlinePayload(event, (blob) => blobs.getPayload({ blob })) });
      }
      const from = fresh.findIndex(({ event }) => event.type === 'msg.start' && event.seq === seq);
      const done = from < 0 ? fresh.length : from;
      for (const { id, event } of fresh.slice(0, done)) remember(memory, event, id);
      const isLong = done >= SNAPSHOT_EVENTS && !memory.state.isExecuting;
      // Whoever dies again and again would never come to rest, and read it all each time.
      if (isLong) snapshots.write(sid, memory);
      for (const { id, event } of fresh.slice(done)) remember(memory, event, id);
      memories.delete(sid);
      memories.set(sid, memory);
      unsaved.set(sid, isLong ? fresh.length - done : (unsaved.get(sid) ?? 0) + fresh.length);
      return { memory, past: from < 0 ? [] : fresh.slice(from).map(({ event }) => event) };
    },
    ended(sid, events) {
      const sum = (unsaved.get(sid) ?? 0) + events;
      unsaved.set(sid, sum);
      const memory = memories.get(sid);
      if (memory) sizes.note(sid, memory.history.messages);
      if (sum >= SNAPSHOT_EVENTS) saveWhenIdle();
      forgetOldest();
    },
    drop: forget,
    save,
  };
}

/** About how long the conversations are that are kept; only what is new in one is measured. */
function createSizes() {
  const known = new Map<string, { readonly messages: number; readonly chars: number }>();
  let sum = 0;
  const drop = (sid: string): void => {
    sum -= known.get(sid)?.chars ?? 0;
    known.delete(sid);
  };
  return {
    note(sid: string, messages: readonly unknown[]) {
      const before = known.get(sid);
      // Made smaller in between, it is measured anew.
      const from = before && before.messages <= messages.length ? before : { messages: 0, chars: BASE_CHARS };
      const chars = messages.slice(from.messages).reduce<number>((all, one) => all + charsIn(one), from.chars);
      drop(sid);
      known.set(sid, { messages: messages.length, chars });
      sum += chars;
    },
    delete: drop,
    sum: () => sum,
  };
}

const charsIn = (message: unknown): number => JSON.stringify(message).length;
