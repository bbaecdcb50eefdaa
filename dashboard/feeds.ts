// What readers are sent: the overview of all sessions, and the timeline of one. Both are catching up by the id that the reader saw last:
// the overview's names this server's count of changes, a timeline's the journal's event, which any server knows.

import type { Odin } from '../orchestrator/api.ts';
import type { Figures } from '../orchestrator/watch/figures.ts';
import type { SessionWatch, WatchedSession } from '../orchestrator/watch/session-watch.ts';
import { ulid } from '../shared/ids.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import type { Credentials, Visitor } from './credentials.ts';
import type { EventStream } from './event-stream.ts';
import type { Fleet } from './fleet.ts';
import type { ShowSafely } from './show-safely.ts';

export interface Feeds {
  /** `isAway()`: nobody looks at the page now. It is told at its leisure, for what waits for an answer must reach it. */
  overview(stream: EventStream, lastId: string | null, visitor: Visitor, isAway: () => boolean): Promise<void>;
  timeline(stream: EventStream, lastId: string | null, sid: string): Promise<void>;
}

type Texts = Pick<WatchedSession, 'title' | 'model'>;

/** Changes are gathered for so long. */
const GATHER_MS = 500;
/** When so many sessions change at once, for longer: nobody can read them all. */
const MANY = 200;
const MANY_MS = 1_500;
const AWAY_MS = 5_000;
/** Sessions in one message. */
const MOST_SESSIONS = 100;
/** Also without a change: what the orchestrator says of itself. */
const FIGURES_EVERY_MS = 5_000;
/** The batches are looked at so often at the least. */
const LOOK_MS = 2_000;
/** Events of a timeline in one message, and how long they are gathered after one before. */
const MOST_EVENTS = 500;
const TIMELINE_MS = 100;

const JOURNAL_ID = /^\d{1,16}-\d{1,16}$/;

export function createFeeds(deps: {
  readonly odin: Pick<Odin, 'follow'>;
  readonly watch: SessionWatch;
  readonly credentials: Credentials;
  readonly show: ShowSafely;
  figures(): Promise<Figures | null>;
  fleet(): Promise<Fleet>;
}): Feeds {
  const { odin, watch, credentials, show } = deps;
  /** Another server counts otherwise. */
  const boot = ulid();

  /** What was shown last of a session: its texts, which hardly ever change, and all of it, the same for every reader. */
  const texts = new Map<string, { readonly raw: Texts; readonly shown: Texts; rev: number; json: string }>();
  const shown = ({ root: _sameForAll, ...session }: WatchedSession): string => {
    const { sid, title, model, rev } = session;
    let text = texts.get(sid);
    if (text?.raw.title !== title || text.raw.model !== model) {
      text = { raw: { title, model }, shown: show({ title, model }), rev: -1, json: '' };
      texts.set(sid, text);
    }
    // All other fields are Odin's own words and numbers.
    if (text.rev !== rev) text.json = JSON.stringify({ ...session, ...text.shown });
    text.rev = rev;
    return text.json;
  };

  /** Sends the state of the agent machine; `gone` is called when the session has moved to the archive, where its last events are read. */
  const watchOne = (stream: EventStream, sid: string, gone: () => void): (() => void) => {
    let status = watch.get(sid)?.status;
    const offChange = watch.onChange(() => {
      const before = status;
      status = watch.get(sid)?.status;
      if (before !== undefined && before !== 'archived' && status === 'archived') gone();
    });
    const offLook = watch.look(sid, (state) => void stream.send({ type: 'state', data: state }));
    return () => {
      offChange();
      offLook();
    };
  };

  const questionsFor = (visitor: Visitor) =>
    watch.questions().map((question) => ({ ...show(question), nonce: credentials.nonceFor(visitor, question) }));

  return {
    async overview(stream, lastId, visitor, isAway) {
      const [seenBoot, seenRev] = (lastId ?? '').split('.');
      let seen = seenBoot === boot && /^\d{1,15}$/.test(seenRev ?? '') ? Number(seenRev) : 0;
      let isFirst = true;
      let figuresAt = Number.NEGATIVE_INFINITY;
      let fleet: Fleet | null = null;
      let sentFleet = '';
      let gatherMs = GATHER_MS;
      while (!stream.signal.aborted) {
        const rev = watch.rev();
        const isComplete = watch.isComplete();
        if (isFirst || rev > seen) {
          const { sessions, gone, asked } = watch.since(seen);
          const isAll = seen === 0;
          seen = rev;
          for (const sid of gone) texts.delete(sid);
          for (let at = 0; at === 0 || at < sessions.length; at += MOST_SESSIONS) {
            const isLast = at + MOST_SESSIONS >= sessions.length;
            const head = JSON.stringify({
              all: isAll && at === 0,
              complete: isComplete && isLast,
              gone: isAll || at > 0 ? [] : gone,
              ...(isLast && (isFirst || asked) ? { questions: questionsFor(visitor) } : {}),
            });
            const json = `${head.slice(0, -1)},"sessions":[${sessions
              .slice(at, at + MOST_SESSIONS)
              .map(shown)
              .join()}]}`;
            // Who has only some of them has none of the change: it begins again.
            await stream.send({ type: 'overview', json, ...(isLast ? { id: `${boot}.${rev}` } : {}) });
          }
          gatherMs = sessions.length > MANY ? MANY_MS : GATHER_MS;
        }
        isFirst = false;
        if (performance.now() - figuresAt > FIGURES_EVERY_MS) {
          figuresAt = performance.now();
          await stream.send({ type: 'figures', data: await deps.figures() });
        }
        // Batches that cannot be read do not take the sessions away.
        const newest = await deps.fleet().catch(() => null);
        const json = newest === null || newest === fleet ? sentFleet : JSON.stringify(show(newest));
        fleet = newest;
        if (json !== sentFleet) await stream.send({ type: 'fleet', json });
        sentFleet = json;
        await changeAfter(watch, stream.signal, seen, isAway() ? AWAY_MS : gatherMs);
      }
    },

    async timeline(stream, lastId, sid) {
      const from = lastId !== null && JOURNAL_ID.test(lastId) ? lastId : '0';
      let gathered: StreamEvent[] = [];
      let sending: Promise<void> | null = null;
      let due: Promise<void> | null = null;
      let fault: Error | null = null;
      let sentAt = Number.NEGATIVE_INFINITY;
      const flush = async (): Promise<void> => {
        const events = gathered;
        gathered = [];
        const id = events.findLast((event) => event.id !== null)?.id;
        await stream.send({ type: 'events', data: show(events), ...(id ? { id } : {}) });
      };
      const leave = new AbortController();
      const signal = AbortSignal.any([stream.signal, leave.signal]);
      const offWatch = watchOne(stream, sid, () => leave.abort());
      // All that one event of the journal gives comes in one turn of the event loop, so that a message never ends within it.
      try {
        for await (const event of odin.follow(sid, { from, gatherMs: TIMELINE_MS, signal })) {
          gathered.push(event);
          due ??= later(sentAt + TIMELINE_MS - performance.now(), signal)
            .then(async () => {
              due = null;
              await sending;
              // What was there long before comes as fast as it can.
              sentAt = gathered.length < MOST_EVENTS / 4 ? performance.now() : Number.NEGATIVE_INFINITY;
              sending = flush();
              await sending;
            })
            .catch((error: unknown) => {
              fault ??= error instanceof Error ? error : new Error(String(error));
            });
          if (gathered.length > MOST_EVENTS) await due;
          // What was not sent is not left out: the reader comes again, with the id of what it has.
          const failed = fault as Error | null;
          if (failed !== null) throw failed;
        }
        await due;
      } finally {
        offWatch();
      }
    },
  };
}

/** Behind all that comes in this turn of the event loop, and so much later. */
function later(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || signal.aborted) return void setImmediate(resolve);
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      setImmediate(resolve);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** Resolves when the count is above `rev`, at least `gatherMs` from now; when the signal aborts; and at the latest for the next look at the batches. */
function changeAfter(watch: SessionWatch, signal: AbortSignal, rev: number, gatherMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      clearTimeout(latest);
      off();
      signal.removeEventListener('abort', end);
      resolve();
    };
    let off = () => {};
    const timer = setTimeout(() => {
      if (watch.rev() > rev) end();
      else off = watch.onChange(end);
    }, gatherMs);
    const latest = setTimeout(end, Math.max(LOOK_MS, gatherMs));
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
