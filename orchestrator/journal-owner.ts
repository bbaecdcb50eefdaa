// The journal in the hands of the session's one owner: append, flush, finish (DURABILITY 3).
// Appends of one moment travel together, those of a message's last moment with its end, one batch is under way at a time, and a batch
// is one script: so a reply lost with the connection, after which ioredis sends the batch again, neither doubles nor reorders anything.
// For the same reason a batch that Redis refuses because it cannot write now (a full disk, full memory) waits and is sent again: the
// turn pauses where it is.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import { killPoint } from '../shared/kill-point.ts';
import { isMode, type Mode } from '../shared/modes.ts';
import { Bug } from '../shared/outcome.ts';
import { Fenced, type JournalPort } from '../shared/ports.ts';
import { createAsking } from './asking.ts';
import type { MarkPen } from './journal-marks.ts';
import { encode } from './journal-read.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';
import { pauseReason } from './redis-pause.ts';
import type { Turn } from './turn-ticket.ts';

export interface SessionJournal extends JournalPort {
  readonly epoch: number;
  /** Id of the newest event appended, durable or not yet. */
  readonly lastId: string;
  /** Appends msg.done, waits until it and all before it are durable, and moves the session on to its next message. */
  finish(event: EventOf<'msg.done'>): Promise<Turn | null>;
  /** Puts the message down without its end: whoever claims it next need not think that this process died with it. */
  leave(): Promise<void>;
  /** Lets go of what it holds open. It writes nothing more. */
  release(): void;
}

/** The journal lacks events that were acknowledged: Redis came back with older data. */
export class Rewound extends Fenced {}

const HOST = hostname();

/** What happens while Redis cannot write. */
export interface JournalWaits {
  /** Ends the waiting; then the journal is given up like one that was taken over. */
  readonly signal: AbortSignal;
  /** Called once for each pause, with a line for the user; null when it is over. */
  onPause(line: string | null): void;
}

const BATCH_EVENTS = 200;
/** How long an event that nobody waits for may wait for others to travel with. */
const GATHER_MS = 2;
const PAUSE_MS = 500;

export interface Ownership {
  readonly sid: string;
  readonly seq: number;
  readonly ws: string;
  readonly epoch: number;
  readonly writer: string;
  readonly pen: MarkPen | null;
  readonly waits: JournalWaits;
}

interface Queued {
  readonly text: string;
  readonly id: string;
  readonly settled: PromiseWithResolvers<string>;
}

export function ownedJournal(redis: OdinRedis, own: Ownership): SessionJournal {
  const session = keys.session(own.sid);
  const queued: Queued[] = [];
  const asking = createAsking(redis, own.ws, own.sid);
  let appended = 0;
  let sent = 0;
  let finished = false;
  let fenced: Fenced | null = null;
  let sending: Promise<void> | null = null;
  let isUnderWay = false;
  let hurry: (() => void) | null = null;

  /** Nothing more is written: all that waits, and all that is still appended, is refused. */
  const fence = (verdict: string): Fenced => {
    fenced ??=
      verdict === 'rewound'
        ? new Rewound(`Redis has lost events of session ${own.sid} that it had acknowledged.`)
        : new Fenced(`Another process has taken over session ${own.sid}.`);
    for (const entry of queued.splice(0)) entry.settled.reject(fenced);
    return fenced;
  };

  /** Nobody waits yet: what is appended in the next moment travels along, with one fsync for all of it. */
  const gathered = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const sendAll = async (): Promise<void> => {
    await gathered();
    hurry = null;
    while (queued.length > 0) {
      const batch = queued.splice(0, BATCH_EVENTS);
      isUnderWay = true;
      try {
        const texts = batch.map(({ text }) => text);
        const [verdict] = await patiently(own.waits, () =>
          redis.oappend([session.log], [own.epoch, sent + 1, ...texts]),
        );
        killPoint('journal:appended');
        if (verdict !== 'ok') throw fence(verdict);
        arrived(batch);
      } catch (error) {
        lost(batch, error);
      }
      isUnderWay = false;
    }
    sending = null;
  };

  const arrived = (batch: readonly Queued[], more = 0): void => {
    sent += batch.length + more;
    own.pen?.note(`${own.epoch}-${sent}`);
    for (const entry of batch) entry.settled.resolve(entry.id);
  };

  /** Closed by us, or refused for good: the events of later batches must not overtake. */
  const lost = (batch: readonly Queued[], error: unknown): void => {
    const cause = fenced ?? (error as Error);
    for (const entry of [...batch, ...queued.splice(0)]) entry.settled.reject(cause);
    fenced ??= new Fenced(`The journal of session ${own.sid} cannot be written: ${cause.message}`);
  };

  const append = (event: JournalEvent): Promise<string> => {
    if (finished) throw new Bug(`${event.type} was appended to a message that is done.`);
    if (fenced !== null) return quiet(Promise.reject(fenced));
    appended += 1;
    const id = `${own.epoch}-${appended}`;
    const entry = { id, text: encode(own.writer, event), settled: Promise.withResolvers<string>() };
    queued.push(entry);
    sending ??= sendAll();
    // Not before it is durable, for it may be refused; not beside the end, which takes the session out.
    if (asking.take(event)) void quiet(entry.settled.promise.then(() => (finished ? undefined : asking.tell())));
    return quiet(entry.settled.promise);
  };

  const flushed = async (): Promise<void> => {
    hurry?.();
    while (sending !== null) await sending;
    if (fenced !== null) throw fenced;
  };

  /** What is not under way and fits beside the end travels with it. */
  const takeLast = async (): Promise<readonly Queued[]> => {
    if (isUnderWay || queued.length >= BATCH_EVENTS) await flushed();
    if (fenced !== null) throw fenced;
    const last = queued.splice(0);
    hurry?.();
    return last;
  };

  return {
    epoch: own.epoch,
    get lastId() {
      return `${own.epoch}-${appended}`;
    },
    append,
    flushed,
    async finish(event) {
      finished = true;
      const last = await takeLast();
      const workspace = keys.workspace(own.ws);
      const { meta, log, inbox, changes } = session;
      const owners = keys.owners(HOST);
      const text = encode(own.writer, event);
      killPoint('journal:finishing');
      const [verdict, next, mode] = await patiently(own.waits, () =>
        redis.odone(
          [meta, log, inbox, changes, owners, workspace.pending, workspace.sessions, workspace.asking],
          [own.epoch, sent + 1, own.seq, own.sid, Date.now(), ...last.map((entry) => entry.text), text],
        ),
      ).catch((error: unknown) => {
        lost(last, error);
        throw error;
      });
      killPoint('journal:finished');
      if (verdict !== 'ok') {
        const cause = fence(verdict);
        lost(last, cause);
        throw cause;
      }
      appended += 1;
      arrived(last, 1);
      return next === 0 ? null : { sid: own.sid, seq: next, mode: modeOf(mode), gen: 0 };
    },
    async leave() {
      const left = redis.oleave([session.meta, keys.owners(HOST)], [own.sid, own.epoch]).catch(() => {});
      // With Redis away it would wait for ever, and it is worth little.
      await Promise.race([left, delay(PAUSE_MS, undefined, { ref: false })]);
    },
    release: () => own.pen?.close(),
  };
}

/** Sends again for as long as Redis says that it cannot write now; every script says the same the second time. */
async function patiently<T>(waits: JournalWaits, send: () => Promise<T>): Promise<T> {
  for (let paused = false; ; ) {
    try {
      const reply = await send();
      if (paused) waits.onPause(null);
      return reply;
    } catch (error) {
      const reason = pauseReason(error);
      if (reason === null || waits.signal.aborted) throw error;
      if (!paused) waits.onPause(`${reason} What runs goes on by itself.`);
      paused = true;
      await delay(PAUSE_MS, undefined, { ref: false, signal: waits.signal }).catch(() => {});
    }
  }
}

/** A caller that does not wait for an append hears of its failure from the next flushed(), not as an unhandled rejection. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function modeOf(text: string): Mode {
  if (!isMode(text)) throw new Bug(`A queued message has the mode ${JSON.stringify(text)}.`);
  return text;
}
