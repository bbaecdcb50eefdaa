// What a session is called (SPEC O3): once its first message is completed, the lesser model is asked in the background, within the
// budget, at most once. Nothing waits for it. Its events go behind the message that has ended, or into the one that runs by then; when
// another process has the session by then, or this one leaves, the session keeps the first line of its first message as its name.

import { TITLE_PROMPT, titleQuestion } from '../llm/prompts/title.ts';
import { cleanLine } from '../shared/clean-text.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import { ulid } from '../shared/ids.ts';
import { withAccounts } from './budget/with-accounts.ts';
import { encode } from './journal-read.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';
import type { GivenTurnDeps } from './turn.ts';

export interface Titles {
  /** A message of the session begins here: events come by its recorder from now on. */
  begins(sid: string): void;
  /** What has come while the message ran, to be recorded before its end. */
  take(sid: string): readonly JournalEvent[];
  /** The message has ended with this event. */
  ended(sid: string, lastId: string): void;
  /** Asks for a title if it is time. `publish` shows an event that is in the journal. */
  ask(given: GivenTurnDeps, start: EventOf<'msg.start'>, publish: (id: string, event: JournalEvent) => void): void;
  close(): void;
}

const MAX_CHARS = 60;
const WAIT_MS = 30_000;

/** `wanted` false: sessions are named after their first line. */
export function createTitles(redis: OdinRedis, wanted: boolean): Titles {
  const leaving = new AbortController();
  /** Where the log of a session ends that is between two messages. */
  const ends = new Map<string, { readonly epoch: number; readonly n: number }>();
  const ready = new Map<
    string,
    { readonly events: readonly JournalEvent[]; publish(id: string, e: JournalEvent): void }
  >();

  const flush = async (sid: string): Promise<void> => {
    const [end, waiting] = [ends.get(sid), ready.get(sid)];
    if (!end || !waiting) return;
    ready.delete(sid);
    const { events, publish } = waiting;
    const writer = ulid();
    const { meta, log } = keys.session(sid);
    const texts = events.map((event) => encode(writer, event));
    const [verdict] = await redis.otitle([meta, log], [end.epoch, end.n + 1, titleIn(events), ...texts]);
    if (verdict === 'ok') return events.forEach((event, i) => publish(`${end.epoch}-${end.n + 1 + i}`, event));
    // A message has begun meanwhile; if it is one of ours, it takes them along.
    ready.set(sid, waiting);
  };

  const request = async (given: GivenTurnDeps, start: EventOf<'msg.start'>): Promise<readonly JournalEvent[]> => {
    const events: JournalEvent[] = [];
    const { smallModel } = withAccounts({ ...given, record: (event) => void events.push(event) }, start, []);
    const message = given.memory.state.messages.find(({ seq }) => seq === start.seq);
    const user = titleQuestion(message?.body ?? '', message?.answerSummary ?? '');
    const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(WAIT_MS)]);
    const outcome = await smallModel.complete({ purpose: 'title', system: TITLE_PROMPT, user }, signal);
    const title = outcome.ok ? titleOf(given.scrub(outcome.value)) : '';
    return title === '' ? events : [...events, { type: 'session.titled', title, at: given.now() }];
  };

  return {
    begins: (sid) => void ends.delete(sid),
    take(sid) {
      const events = ready.get(sid)?.events ?? [];
      ready.delete(sid);
      const title = titleIn(events);
      if (title !== '') redis.hset(keys.session(sid).meta, 'title', title).catch(() => {});
      return events;
    },
    ended(sid, lastId) {
      const [epoch = 0, n = 0] = lastId.split('-').map(Number);
      if (!wanted) return;
      ends.set(sid, { epoch, n });
      flush(sid).catch(() => {});
    },
    ask(given, start, publish) {
      const { sid, memory } = given;
      const { state } = memory;
      const completed = state.messages.filter(({ outside, status }) => outside === undefined && status === 'completed');
      if (!wanted || start.command || completed.length !== 1 || completed[0]?.seq !== start.seq) return;
      request(given, start)
        .then((events) => {
          if (events.length === 0 || leaving.signal.aborted) return undefined;
          ready.set(sid, { events, publish });
          return flush(sid);
        })
        // The first line will do.
        .catch((error: unknown) => given.log?.('a session got no title', { error: String(error) }));
    },
    close: () => leaving.abort(),
  };
}

const titleIn = (events: readonly JournalEvent[]): string =>
  events.find((event) => event.type === 'session.titled')?.title ?? '';

/** One short line of what the model said. */
function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return cleanLine(line.replace(/^["'`*#\s]+|["'`*.\s]+$/g, ''), MAX_CHARS);
}
