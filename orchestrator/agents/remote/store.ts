// What Redis knows of remote subagents: the order, who runs it, what the worker says, what it is told. It is there from the order until the
// agent's end is in its parent's journal.

import * as z from 'zod';
import { sha256 } from '../../../shared/ids.ts';
import { keys } from '../../keys.ts';
import type { OdinRedis } from '../../redis.ts';
import {
  entrySchema,
  orderHash,
  orderSchema,
  type RemoteEntry,
  type RemoteOrder,
  type RemoteWord,
  wordSchema,
} from './order.ts';
import { type Sealed, seal, unseal } from './seal.ts';

/** Who runs an agent; `job`, `queue` and `token` put it back when that process is dead. */
const runSchema = z.object({
  worker: z.string(),
  host: z.string(),
  pid: z.number(),
  startTime: z.string(),
  job: z.string(),
  token: z.string(),
});

export type RemoteRun = z.infer<typeof runSchema>;

interface Claimed {
  readonly epoch: number;
  readonly attempt: number;
  readonly session: string;
}

export type RemoteClaim =
  | ({ readonly status: 'ok' } & Claimed)
  /** Its workers died too often: it is to be ended. */
  | ({ readonly status: 'crashes' } & Claimed)
  | { readonly status: 'unknown' }
  | { readonly status: 'ended' };

export interface StreamEntry extends Sealed {
  readonly id: string;
}

/** Workers that may die under an agent before it counts as crashed. */
const MAX_DEATHS = 3;
/** Nobody came back for it. */
const KEPT_S = 7 * 24 * 3_600;
/** So long a parent counts as listening that has said so. */
const HEARD_S = 600;

export type RemoteStore = ReturnType<typeof openRemoteStore>;

export function openRemoteStore(redis: OdinRedis, key: Buffer) {
  let telling: Promise<unknown> = Promise.resolve();

  const tellNow = async (rid: string, word: RemoteWord): Promise<void> => {
    const { words } = keys.remoteAgent(rid);
    const last = (await redis.xrevrange(words, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0';
    const id = `1-${Number(last.split('-')[1]) + 1}`;
    const { text, code } = seal(key, [rid, 'in', id], word);
    await Promise.all([redis.xadd(words, id, 'd', text, 's', code), redis.expire(words, KEPT_S)]);
  };

  return {
    /** Stores the order of an agent; the one that is there already stays. Resolves to that which holds, null when that is a forgery. */
    async order(order: RemoteOrder, patch: string, attempt: number): Promise<RemoteOrder | null> {
      const { meta } = keys.remoteAgent(order.rid);
      const { text, code } = seal(key, [order.rid, 'order', '0'], order);
      if (patch !== '') await redis.hset(meta, `patch:${sha256(patch)}`, patch);
      // Where Redis has lost an agent, its attempts go on behind those that its parent knows of.
      await redis.hsetnx(meta, 'attempt', attempt);
      await redis.hsetnx(meta, 'order', `${code} ${text}`);
      await redis.expire(meta, KEPT_S);
      await redis.sadd(keys.remoteAgents, order.rid);
      return this.find(order.rid);
    },

    /** What was ordered; null when there is nothing that a holder of the key has written. */
    async find(rid: string): Promise<RemoteOrder | null> {
      const sealed = (await redis.hget(keys.remoteAgent(rid).meta, 'order')) ?? '';
      const at = sealed.indexOf(' ');
      const opened = unseal(
        key,
        [rid, 'order', '0'],
        { code: sealed.slice(0, Math.max(0, at)), text: sealed.slice(at + 1) },
        orderSchema,
      );
      return opened.ok && opened.value.rid === rid ? opened.value : null;
    },

    /** A patch by its hash; null when there is none, or it is another. */
    async patch(rid: string, hash: string): Promise<string | null> {
      const text = await redis.hget(keys.remoteAgent(rid).meta, `patch:${hash}`);
      return text !== null && sha256(text) === hash ? text : null;
    },

    async claim(rid: string, run: RemoteRun, place: string, session: string): Promise<RemoteClaim> {
      const reply = await redis.orclaim(
        [keys.remoteAgent(rid).meta],
        [JSON.stringify(run), place, session, MAX_DEATHS],
      );
      const [status, epoch, attempt, own] = reply as readonly [RemoteClaim['status'], number, number, string];
      if (status === 'unknown' || status === 'ended') return { status };
      return { status, epoch, attempt, session: own };
    },

    /** One more entry of its stream; false when somebody else has the agent by now. */
    async say(
      rid: string,
      at: { readonly epoch: number; readonly attempt: number; readonly n: number },
      entry: RemoteEntry,
    ): Promise<boolean> {
      const { meta, stream } = keys.remoteAgent(rid);
      const { text, code } = seal(key, [rid, 'out', `${at.attempt}-${at.n}`], entry);
      const isLast = entry.k === 'end' ? 1 : 0;
      return (await redis.orsay([meta, stream], [at.epoch, at.attempt, at.n, text, code, isLast, KEPT_S])) === 'ok';
    },

    /** Keeps what it changed; false when somebody else has the agent by now. */
    async keepPatch(rid: string, epoch: number, patch: string): Promise<boolean> {
      const { meta } = keys.remoteAgent(rid);
      return (await redis.orput([meta], [epoch, `patch:${sha256(patch)}`, patch])) === 'ok';
    },

    release: (rid: string, epoch: number): Promise<number> => redis.orrelease([keys.remoteAgent(rid).meta], [epoch]),

    /** No worker is heard any more. ended: one has said how it ended, and that holds. */
    take: (rid: string): Promise<'ok' | 'ended'> => redis.ortake([keys.remoteAgent(rid).meta], []),

    /** Tells the worker something. Numbered, so that nobody can say it again; words of one parent come one after the other. */
    tell(rid: string, word: RemoteWord): Promise<void> {
      const told = telling.then(() => tellNow(rid, word));
      telling = told.catch(() => {});
      return told;
    },

    /** The parent listens, for some minutes from now. */
    async listen(rid: string): Promise<void> {
      await redis.set(keys.remoteAgent(rid).heard, '1', 'EX', HEARD_S);
    },

    async isListening(rid: string): Promise<boolean> {
      return (await redis.exists(keys.remoteAgent(rid).heard)) === 1;
    },

    /** Who runs it; null: nobody. */
    async run(rid: string): Promise<RemoteRun | null> {
      return parseRun(await redis.hget(keys.remoteAgent(rid).meta, 'run'));
    },

    /** An entry of its stream, or why it is refused. */
    said(rid: string, { id, ...sealed }: StreamEntry) {
      return unseal(key, [rid, 'out', id], sealed, entrySchema);
    },

    /** A word that came, or why it is refused. */
    heard(rid: string, { id, ...sealed }: StreamEntry) {
      return unseal(key, [rid, 'in', id], sealed, wordSchema);
    },

    /** Those that have not ended, with who runs each. */
    async runs(): Promise<ReadonlyMap<string, RemoteRun | null>> {
      const found = new Map<string, RemoteRun | null>();
      for (const rid of await redis.smembers(keys.remoteAgents)) {
        const [order, run = null, ended] = await redis.hmget(keys.remoteAgent(rid).meta, 'order', 'run', 'ended');
        if (order === null || order === undefined) await redis.srem(keys.remoteAgents, rid);
        else if (ended === null) found.set(rid, parseRun(run));
      }
      return found;
    },

    async isEnded(rid: string): Promise<boolean> {
      return (await redis.hexists(keys.remoteAgent(rid).meta, 'ended')) === 1;
    },

    /** Its end is in its parent's journal. */
    async remove(rid: string): Promise<void> {
      const { meta, stream, words, heard } = keys.remoteAgent(rid);
      await redis.multi().del(meta, stream, words, heard).srem(keys.remoteAgents, rid).exec();
    },
  };
}

export const jobOfOrder = (order: RemoteOrder): { readonly rid: string; readonly hash: string } => ({
  rid: order.rid,
  hash: orderHash(order),
});

function parseRun(text: string | null): RemoteRun | null {
  try {
    const parsed = runSchema.safeParse(JSON.parse(text ?? 'null'));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export const entriesOf = (found: readonly [id: string, fields: string[]][]): readonly StreamEntry[] =>
  found.map(([id, fields]) => ({ id, text: fields[1] ?? '', code: fields[3] ?? '' }));
