// The one way into a session's journal (SPEC O4). An event recorded here is scrubbed, folded into memory and handed to the
// listeners at once, and is on its way to the journal; large payloads go to the blob store first, and order is kept.
//
// Invariant: memory may be ahead of the journal, the outside world never: whoever performs an effect awaits `flushed()`.
// A rejected append (Fenced, Redis gone) rejects every later flush, so no effect follows it; neither does one in a process that may
// have lost the workspace while it slept.

import type { EventOf, JournalEvent } from '../shared/events.ts';
import { killPoint } from '../shared/kill-point.ts';
import type { JournalPort } from '../shared/ports.ts';
import { isLarge, withBlob } from './payloads.ts';
import type { SessionMemory } from './session-memory.ts';
import { remember } from './session-memory.ts';

export interface Recorder {
  record(event: JournalEvent): void;
  /** Resolves when everything recorded so far is durable; rejects when the journal, or the workspace, is no longer ours. */
  flushed(): Promise<void>;
  /** Records the message's last event through `finish`, which makes it durable and moves the session on. */
  finish<T>(event: EventOf<'msg.done'>, finish: (stored: EventOf<'msg.done'>) => Promise<Finished<T>>): Promise<T>;
}

export interface Finished<T> {
  /** Id of the event. */
  readonly id: string;
  readonly next: T;
}

export interface RecorderPorts {
  readonly journal: JournalPort;
  readonly memory: SessionMemory;
  putBlob(text: string): Promise<{ readonly sha256: string; readonly bytes: number }>;
  /** Null while nobody else can have the workspace, else what settles when that is known: Lease.sure. */
  sure(): Promise<void> | null;
  /** What must be on disk before this event is appended; null when it need not wait. */
  before(event: JournalEvent): Promise<void> | null;
  /** Called in order, as soon as an event is recorded: what runs on it. */
  onRecorded(event: JournalEvent): void;
  /** Called in order, once an event is durable: what shows it. */
  onDurable(id: string, event: JournalEvent): void;
}

export function createRecorder(ports: RecorderPorts): Recorder {
  let tail: Promise<void> | null = null;
  /** Why an event did not get as far as the journal. */
  let broken: { readonly cause: unknown } | null = null;
  let last: Promise<void> = Promise.resolve();

  const append = (event: JournalEvent, stored: JournalEvent): Promise<void> =>
    ports.journal.append(stored).then((id) => {
      ports.memory.upTo = id;
      killPoint(`durable:${event.type}`);
      ports.onDurable(id, event);
    });

  const send = (event: JournalEvent): Promise<void> => {
    const large = isLarge(event);
    const wanted = ports.before(event);
    if (!large && tail === null && wanted === null) return append(event, event);
    const stored = large ? withBlob(event, ports.putBlob) : Promise.resolve(event);
    let appended: Promise<void> | undefined;
    const sent = Promise.all([stored, tail, wanted]).then(([ready]) => {
      appended = append(event, ready);
      appended.catch(() => {});
    });
    tail = sent;
    const release = () => {
      if (tail === sent) tail = null;
    };
    sent.then(release, (cause: unknown) => {
      broken ??= { cause };
      release();
    });
    return sent.then(() => appended);
  };

  /** Everything recorded so far is the journal's. */
  const handedOver = async (): Promise<void> => {
    while (tail !== null) await tail.catch(() => {});
  };

  return {
    record(event) {
      remember(ports.memory, event, null);
      const previous = last;
      const sent = send(event);
      last = previous.then(() => sent);
      last.catch(() => {});
      sent.catch(() => {});
      killPoint(`recorded:${event.type}`);
      ports.onRecorded(event);
    },
    async flushed() {
      await handedOver();
      const all = last;
      await ports.journal.flushed().catch(() => {});
      await all;
      const sure = ports.sure();
      if (sure !== null) await sure;
    },
    async finish(event, finish) {
      const stored = isLarge(event) ? await withBlob(event, ports.putBlob) : event;
      await handedOver();
      if (broken) throw broken.cause;
      const { id, next } = await finish(stored);
      await last;
      remember(ports.memory, event, id);
      ports.onDurable(id, event);
      return next;
    },
  };
}
