// The session that is on the screen: followed from its beginning into a View, its queue read beside it. It asks and tells the facade of
// orchestrator/api.ts and knows nothing else: the session may run in another process.

import type { Odin, SubmitOptions } from '../../orchestrator/api.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import type { QueuedMessage } from '../../shared/state.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { addNote, reduce } from './model.ts';
import { EMPTY_VIEW, type NoteItem, type View } from './view.ts';

export interface SessionOnScreen {
  sid(): string;
  view(): View;
  queue(): readonly QueuedMessage[];
  /** Shows another session; `isNew`: it begins with its first message. */
  open(sid: string, isNew: boolean): void;
  /** The number of the message. */
  submit(options: SubmitOptions): Promise<number>;
  /** Has a message that waits told to the one that runs. */
  steer(seq: number): Promise<void>;
  note(text: string, tone?: NoteItem['tone']): void;
  /** A question of another session that runs here, or its answer. */
  see(event: StreamEvent): void;
  refreshQueue(): Promise<void>;
  close(): Promise<void>;
}

/** A message from another terminal shows up in the queue by itself. */
const QUEUE_LOOK_MS = 2_000;
/** What lies in the journal comes in one go; after so long without an event what is there is shown. */
const QUIET_MS = 150;

/** With these a message has left the queue. */
const QUEUE_MOVES: ReadonlySet<StreamEvent['type']> = new Set(['MessageStarted', 'AgentDone', 'UserWord']);

export function createSession(
  odin: Pick<Odin, 'follow' | 'queued' | 'submit' | 'steer'>,
  onChange: (event: StreamEvent | null) => void,
): SessionOnScreen {
  let sid = '';
  let view = EMPTY_VIEW;
  let queue: readonly QueuedMessage[] = [];
  let stop = new AbortController();
  let following: Promise<void> | null = null;
  let isReading = false;
  let quiet: NodeJS.Timeout | null = null;
  const behind: [string, NoteItem['tone']][] = [];

  const isOver = () => {
    isReading = false;
    for (const [text, tone] of behind.splice(0)) view = addNote(view, text, tone);
    onChange(null);
  };
  const fold = (event: StreamEvent) => {
    view = reduce(view, event);
    if (isReading) {
      if (quiet !== null) clearTimeout(quiet);
      quiet = setTimeout(isOver, QUIET_MS);
    } else onChange(event);
    if (QUEUE_MOVES.has(event.type)) void refreshQueue();
  };
  const follow = async (signal: AbortSignal) => {
    try {
      for await (const event of odin.follow(sid, { from: '0', signal })) {
        // What was on its way when another session was opened is none of that one's.
        if (signal.aborted) return;
        fold(event);
      }
    } catch (error) {
      if (!signal.aborted) note(`the session can no longer be followed: ${cleanLine(String(error))}`, 'bad');
    }
  };
  const start = () => {
    following ??= follow(stop.signal);
  };
  async function refreshQueue(): Promise<void> {
    if (following === null) return;
    const { signal } = stop;
    const now = await odin.queued(sid).catch(() => queue);
    if (signal.aborted) return;
    const isSame = now.length === queue.length && now.every((one, i) => same(one, queue[i]));
    queue = now;
    if (!isSame) onChange(null);
  }
  function note(text: string, tone: NoteItem['tone'] = 'dim'): void {
    // It is about what is on the screen by then.
    if (isReading) return void behind.push([text, tone]);
    view = addNote(view, text, tone);
    onChange(null);
  }
  const looking = setInterval(() => void (view.running && refreshQueue()), QUEUE_LOOK_MS).unref();

  return {
    sid: () => sid,
    view: () => (isReading ? EMPTY_VIEW : view),
    queue: () => queue,
    open(next, isNew) {
      stop.abort();
      if (quiet !== null) clearTimeout(quiet);
      stop = new AbortController();
      following = null;
      sid = next;
      view = EMPTY_VIEW;
      queue = [];
      behind.length = 0;
      isReading = !isNew;
      if (!isNew) {
        start();
        quiet = setTimeout(isOver, 4 * QUIET_MS);
        void refreshQueue();
      }
      onChange(null);
    },
    async submit(options) {
      const { seq, position } = await odin.submit(sid, options);
      start();
      if (position > 0) await refreshQueue();
      return seq;
    },
    async steer(seq) {
      await odin.steer(sid, seq, 'terminal');
      await refreshQueue();
    },
    note,
    see: fold,
    refreshQueue,
    async close() {
      clearInterval(looking);
      if (quiet !== null) clearTimeout(quiet);
      stop.abort();
      await following;
    },
  };
}

const same = (a: QueuedMessage, b: QueuedMessage | undefined): boolean =>
  a.seq === b?.seq && a.body === b.body && a.mode === b.mode && a.steered === b.steered;
