// What a worker says of an agent that it runs: the events of the agent's session, in their order, as far as they are the parent's business.
// What names a place on this machine, or needs its blobs, stays here. The same connection hears what the parent has to say.

import type { EventOf, JournalEvent } from '../../../shared/events.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { Fenced } from '../../../shared/ports.ts';
import type { Blobs } from '../../blobs.ts';
import { decode } from '../../journal-read.ts';
import { keys } from '../../keys.ts';
import { withInlinePayload } from '../../payloads.ts';
import { hangUpOnce, type RedisHandle } from '../../redis.ts';
import type { RemoteWord } from './order.ts';
import { entriesOf, type RemoteStore } from './store.ts';
import { tellable } from './workers-event.ts';

export interface MirrorDeps {
  readonly handle: RedisHandle;
  readonly store: RemoteStore;
  readonly blobs: Blobs;
  readonly rid: string;
  /** The agent's session here. */
  readonly sid: string;
  readonly epoch: number;
  readonly attempt: number;
  /** The project's root in the copy -> what its parent calls it. */
  readonly roots: readonly [copy: string, parents: string];
  readonly signal: AbortSignal;
  /** Does what the parent wants; false when it cannot be done yet. */
  obey(word: RemoteWord): Promise<boolean>;
  /** A word of the parent that was refused. */
  refused(id: string, why: string): void;
}

export interface MirrorEnd {
  readonly done: EventOf<'msg.done'>;
  /** Number of the last entry that was said. */
  readonly n: number;
}

const BLOCK_MS = 500;
const PAGE = 200;

/** Says all that the session's journal has and gets, until its message has ended. Rejects with Fenced when somebody else has the agent. */
export async function mirror(deps: MirrorDeps): Promise<MirrorEnd> {
  const { handle, store, rid, sid, epoch, attempt, signal } = deps;
  const { log } = keys.session(sid);
  const { words } = keys.remoteAgent(rid);
  const held: RemoteWord[] = [];
  const pending: RemoteWord[] = [];
  let n = 0;
  let told = 0;
  let heardSays = 0;
  const asked = new Set<string>();
  let [lastEvent, lastWord] = ['0', '0'];
  let isUpToDate = false;
  const reader = await handle.duplicate();
  const stop = hangUpOnce(reader);
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (true) {
      signal.throwIfAborted();
      const replies = await reader.xread('COUNT', PAGE, 'BLOCK', BLOCK_MS, 'STREAMS', log, words, lastEvent, lastWord);
      const of = (key: string) => (replies ?? []).find(([name]) => name === key)?.[1] ?? [];
      for (const entry of entriesOf(of(words))) {
        lastWord = entry.id;
        const heard = store.heard(rid, entry);
        if (heard.ok) held.push(heard.value);
        else deps.refused(entry.id, heard.failure.message);
      }
      for (const entry of of(log)) {
        const { id, event } = decode(entry);
        lastEvent = id;
        const whole = await withInlinePayload(event, (blob) => deps.blobs.getPayload({ blob }));
        if (whole.type === 'msg.done') return { done: whole, n };
        if (whole.type === 'word') told += 1;
        const shown = tellable(whole);
        if (shown === null) continue;
        // After a crash its call asks again what is asked already.
        if (shown.type === 'perm.ask' && asked.has(shown.question.id)) continue;
        if (shown.type === 'perm.ask') asked.add(shown.question.id);
        n += 1;
        const said = { k: 'ev', event: inParents(shown, deps.roots) } as const;
        if (!(await store.say(rid, { epoch, attempt, n }, said))) throw new Fenced('Somebody else has the agent.');
      }
      // Words wait for all that the journal had before they are obeyed: it says which of them were told before a crash.
      isUpToDate ||= of(log).length < PAGE;
      if (!isUpToDate) continue;
      for (const word of held.splice(0)) {
        if (word.k === 'answer' || word.k === 'go') await deps.obey(word);
        else if (word.k === 'cancel' || ++heardSays > told) pending.push(word);
      }
      while (pending[0] !== undefined && (await deps.obey(pending[0]))) pending.shift();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/** With the files as its parent knows them. A command is shown as it would be run. */
const inParents = (event: JournalEvent, [copy, parents]: readonly [string, string]) => {
  const isCommand = event.type === 'perm.ask' && event.question.tool === 'ExecuteCommand';
  if (isCommand) return event as unknown as JsonObject & { type: string };
  const inJson = (path: string) => JSON.stringify(path).slice(1, -1);
  return JSON.parse(JSON.stringify(event).replaceAll(inJson(copy), inJson(parents))) as JsonObject & { type: string };
};
