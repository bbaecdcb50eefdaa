// What Redis knows of batches (DURABILITY 10): the tasks, who runs which, the results. The results are the truth: a task is done when it
// has one, and it never has two. Everything here may be done twice.

import * as z from 'zod';
import { sha256 } from '../../shared/ids.ts';
import { UserError } from '../../shared/outcome.ts';
import { canonical } from '../jobs/sign-job.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';
import { type Task, taskId, taskSchema } from './task.ts';

/** failed: it ran and failed, or could not run. limit: a limit stopped it. skipped: it waited for one that was not completed. */
export const ITEM_STATUSES = ['completed', 'failed', 'limit', 'cancelled', 'skipped'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

const resultSchema = z.object({
  id: taskId,
  line: z.number(),
  status: z.enum(ITEM_STATUSES),
  /** How its message ended, or why it never had one. */
  reason: z.string(),
  answer: z.string(),
  /** What its patch changes. */
  files: z.array(z.string()),
  base: z.string(),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  steps: z.number(),
  session: z.string().nullable(),
  worker: z.string().nullable(),
  startedAt: z.number().nullable(),
  endedAt: z.number(),
  /** Where its working copy stays, when its patch could not be taken. */
  kept: z.string().optional(),
});

export type ItemResult = z.infer<typeof resultSchema>;

/** Who runs an item: `job` and `token` put it back when that process is dead. */
const runSchema = z.object({
  worker: z.string(),
  host: z.string(),
  pid: z.number(),
  startTime: z.string(),
  job: z.string(),
  token: z.string(),
  at: z.number(),
});

export type ItemRun = z.infer<typeof runSchema>;

export interface NewBatch {
  readonly bid: string;
  /** Of what was submitted, before commits were looked up. */
  readonly hash: string;
  readonly name: string;
  readonly root: string;
  readonly caps: { readonly usd?: number; readonly tokens?: number };
  readonly tasks: readonly Task[];
}

export interface BatchStatus {
  readonly bid: string;
  readonly name: string;
  readonly root: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly total: number;
  readonly counts: Readonly<Record<ItemStatus, number>>;
  readonly running: number;
  readonly cancelled: boolean;
  /** Null when the price of a model is not known. */
  readonly costUsd: number | null;
  readonly tokens: number;
  readonly caps: { readonly usd?: number; readonly tokens?: number };
}

export type ItemClaim =
  | {
      readonly status: 'ok';
      readonly epoch: number;
      /** Its session in the working copy. */
      readonly sid: string;
      /** It has just got it. */
      readonly isFresh: boolean;
    }
  | { readonly status: 'done' | 'cancelled' | 'stale' | 'budget' | 'unknown' };

const CHUNK = 500;
/** A batch that is over is forgotten after a month. */
const KEPT_S = 30 * 24 * 3_600;

export const taskHash = (task: Task): string => sha256(canonical(task));

/** The task in a text of Redis; null when it is none of ours. */
function parseTask(text: string | null | undefined): Task | null {
  try {
    const parsed = taskSchema.safeParse(JSON.parse(text ?? 'null'));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** In the order of the scripts that end an item or begin one anew. */
function keysOf(bid: string): readonly string[] {
  const { meta, marks, runs, results, todo, patches, items, after } = keys.batch(bid);
  return [meta, marks, runs, results, todo, patches, items, after];
}

export type BatchStore = ReturnType<typeof openBatchStore>;

export function openBatchStore(redis: OdinRedis) {
  const tasksOf = async (bid: string, items: readonly string[]): Promise<readonly (Task | null)[]> =>
    items.length === 0 ? [] : (await redis.hmget(keys.batch(bid).items, ...items)).map(parseTask);

  const parseResult = (text: string | null): ItemResult | null =>
    text === null ? null : resultSchema.parse(JSON.parse(text));

  return {
    tasksOf,

    /** Stores a batch whole; false when it is there already. Throws when that one has other tasks. */
    async create({ bid, hash, name, root, caps, tasks }: NewBatch): Promise<boolean> {
      const batch = keys.batch(bid);
      const before = await redis.hget(batch.meta, 'hash');
      if (before === hash) return false;
      if (before !== null) {
        throw new UserError(`There is a batch "${bid}" with other tasks. Give this one another --id, or leave it out.`);
      }
      const after = new Map<string, string[]>();
      for (const { id, needs } of tasks) for (const need of needs) after.set(need, [...(after.get(need) ?? []), id]);
      for (let at = 0; at < tasks.length; at += CHUNK) {
        const chunk = tasks.slice(at, at + CHUNK);
        const pipeline = redis.pipeline();
        // What a submitter that died halfway has written stays.
        for (const task of chunk) pipeline.hsetnx(batch.items, task.id, JSON.stringify(task));
        pipeline.sadd(batch.todo, ...chunk.map(({ id }) => id));
        await pipeline.exec();
      }
      if (after.size > 0) {
        await redis.hset(batch.after, Object.fromEntries([...after].map(([id, list]) => [id, JSON.stringify(list)])));
      }
      const now = Date.now();
      const limits = {
        ...(caps.usd === undefined ? {} : { capUsd: caps.usd }),
        ...(caps.tokens === undefined ? {} : { capTokens: caps.tokens }),
      };
      await redis.hset(batch.meta, { hash, name, root, createdAt: now, total: tasks.length, ...limits });
      await redis.zadd(keys.batches, now, bid);
      return true;
    },

    /** Newest first. */
    async list(): Promise<readonly BatchStatus[]> {
      const bids = await redis.zrevrange(keys.batches, 0, -1);
      const found = await Promise.all(bids.map((bid) => this.status(bid)));
      const gone = bids.filter((_, i) => found[i] === null);
      if (gone.length > 0) await redis.zrem(keys.batches, ...gone);
      return found.filter((status) => status !== null);
    },

    async status(bid: string): Promise<BatchStatus | null> {
      const batch = keys.batch(bid);
      const [meta, running] = await Promise.all([redis.hgetall(batch.meta), redis.hlen(batch.runs)]);
      if (meta['hash'] === undefined) return null;
      const number = (name: string): number => Number(meta[name] ?? 0);
      return {
        bid,
        name: meta['name'] ?? '',
        root: meta['root'] ?? '',
        createdAt: number('createdAt'),
        endedAt: meta['endedAt'] === undefined ? null : number('endedAt'),
        total: number('total'),
        counts: Object.fromEntries(ITEM_STATUSES.map((status) => [status, number(`n:${status}`)])) as Record<
          ItemStatus,
          number
        >,
        running,
        cancelled: meta['cancelled'] !== undefined,
        costUsd: number('unpriced') > 0 ? null : number('usd'),
        tokens: number('tokens'),
        caps: {
          ...(meta['capUsd'] === undefined ? {} : { usd: number('capUsd') }),
          ...(meta['capTokens'] === undefined ? {} : { tokens: number('capTokens') }),
        },
      };
    },

    /** The batch that a person means by its id or the beginning of it, or by "last". */
    async find(wanted: string): Promise<string> {
      const bids = await redis.zrevrange(keys.batches, 0, -1);
      if (wanted === 'last' && bids[0] !== undefined) return bids[0];
      if (bids.includes(wanted)) return wanted;
      const found = bids.filter((bid) => wanted !== '' && bid.startsWith(wanted));
      if (found.length === 1 && found[0] !== undefined) return found[0];
      throw new UserError(
        found.length > 1
          ? `"${wanted}" is the beginning of ${found.length} batches. Give more of it.`
          : `There is no batch "${wanted}". \`odin batch list\` shows those there are.`,
      );
    },

    todo: (bid: string): Promise<readonly string[]> => redis.smembers(keys.batch(bid).todo),

    /** Those that are not done and have no job in any of these queues, as their keys begin. */
    async missing(bid: string, queues: readonly string[]): Promise<readonly string[]> {
      const { todo, marks } = keys.batch(bid);
      const missing = new Set<string>();
      for (let cursor = ''; cursor !== '0'; ) {
        const [next, ...items] = await redis.obmissing([todo, marks], [cursor || '0', bid, ...queues]);
        for (const item of items) missing.add(item);
        cursor = next;
      }
      return [...missing];
    },

    items: (bid: string): Promise<readonly string[]> => redis.hkeys(keys.batch(bid).items),

    async dependents(bid: string, item: string): Promise<readonly string[]> {
      const text = await redis.hget(keys.batch(bid).after, item);
      return text === null ? [] : z.array(z.string()).parse(JSON.parse(text));
    },

    hasDependents: async (bid: string): Promise<boolean> => (await redis.exists(keys.batch(bid).after)) === 1,

    async results(bid: string, items: readonly string[]): Promise<readonly (ItemResult | null)[]> {
      return items.length === 0 ? [] : (await redis.hmget(keys.batch(bid).results, ...items)).map(parseResult);
    },

    patch: (bid: string, item: string): Promise<string | null> => redis.hget(keys.batch(bid).patches, item),

    async runs(bid: string): Promise<ReadonlyMap<string, ItemRun>> {
      const all = await redis.hgetall(keys.batch(bid).runs);
      return new Map(Object.entries(all).map(([item, text]) => [item, runSchema.parse(JSON.parse(text))]));
    },

    /** How often the items were begun anew, and which of their jobs is the newest. */
    async marks(
      bid: string,
      items: readonly string[],
    ): Promise<readonly { readonly gen: number; readonly job: number }[]> {
      if (items.length === 0) return [];
      const fields = items.flatMap((item) => [`g:${item}`, `j:${item}`]);
      const values = await redis.hmget(keys.batch(bid).marks, ...fields);
      return items.map((_, i) => ({ gen: Number(values[2 * i] ?? 0), job: Number(values[2 * i + 1] ?? 0) }));
    },

    /** The item's job is over and did not finish it: the next one has another id. Two that see it make one step. */
    async nextJob(bid: string, item: string, was: number): Promise<number> {
      const field = `j:${item}`;
      const now = Number((await redis.hget(keys.batch(bid).marks, field)) ?? 0);
      return now === was ? redis.hincrby(keys.batch(bid).marks, field, 1) : now;
    },

    /** Whether the claim is the item's newest. */
    isNewest: async (bid: string, item: string, epoch: number): Promise<boolean> =>
      (await redis.hget(keys.batch(bid).marks, `e:${item}`)) === String(epoch),

    /** Whether a message of the session was ever submitted, and Redis has it. */
    hasMessages: async (sid: string): Promise<boolean> => (await redis.exists(keys.session(sid).meta)) === 1,

    /** Its session in a working copy is another from here on: what was done in the one before is lost with that copy. */
    renewSession: (bid: string, item: string, gen: number, ws: string, sid: string): Promise<number> =>
      redis.hset(keys.batch(bid).marks, `s:${item}:${gen}:${ws}`, sid),

    /** The sessions of the items that were begun: those of the newest beginning, in whichever working copies. Live or archived. */
    async sessions(bid: string): Promise<ReadonlyMap<string, readonly string[]>> {
      const newest = new Map<string, { gen: number; sids: string[] }>();
      for (const [field, sid] of Object.entries(await redis.hgetall(keys.batch(bid).marks))) {
        const [, item, text] = /^s:([^:]+):(\d+):/.exec(field) ?? [];
        if (item === undefined) continue;
        const gen = Number(text);
        const known = newest.get(item);
        if (known === undefined || known.gen < gen) newest.set(item, { gen, sids: [sid] });
        else if (known.gen === gen) known.sids.push(sid);
      }
      return new Map([...newest].map(([item, { sids }]) => [item, sids]));
    },

    /** `fresh`: the session's id when the item has none in the working copy `ws`. */
    async claim(
      bid: string,
      item: string,
      gen: number,
      run: ItemRun,
      { ws, fresh }: { readonly ws: string; readonly fresh: string },
    ): Promise<ItemClaim> {
      const { meta, marks, runs, results, todo } = keys.batch(bid);
      const args = [item, gen, JSON.stringify(run), ws, fresh];
      const reply = await redis.obclaim([meta, marks, runs, results, todo], args);
      if (reply[0] !== 'ok') return { status: reply[0] };
      return { status: 'ok', epoch: reply[1], sid: reply[2], isFresh: reply[3] === 1 };
    },

    /** last: the batch is over with it. */
    finish(bid: string, result: ItemResult, epoch: number, patch: string): Promise<'ok' | 'last' | 'done' | 'fenced'> {
      const cost = result.costUsd === null ? '' : result.costUsd;
      const figures = [result.status, cost, result.tokens, result.endedAt];
      return redis.obfinish(keysOf(bid), [result.id, epoch, JSON.stringify(result), ...figures, patch, KEPT_S]);
    },

    /** The end of an item that nobody runs. */
    skip(bid: string, task: Task, status: ItemStatus, reason: string, answer: string) {
      const result: ItemResult = {
        ...{ id: task.id, line: task.line, status, reason, answer, files: [], base: task.base },
        ...{ costUsd: 0, tokens: 0, steps: 0, session: null, worker: null, startedAt: null, endedAt: Date.now() },
      };
      return redis.obskip(keysOf(bid), [task.id, JSON.stringify(result), status, result.endedAt, KEPT_S]);
    },

    release: (bid: string, item: string, epoch: number): Promise<number> =>
      redis.obrelease([keys.batch(bid).marks, keys.batch(bid).runs], [item, epoch]),

    /** Begins anew what has ended otherwise than completed. Returns how many. */
    async retry(bid: string): Promise<number> {
      const items = await this.items(bid);
      let begun = 0;
      for (let at = 0; at < items.length; at += CHUNK) {
        begun += await redis.obretry(keysOf(bid), items.slice(at, at + CHUNK));
      }
      return begun;
    },

    markCancelled: (bid: string): Promise<number> => redis.hset(keys.batch(bid).meta, 'cancelled', 1),

    isCancelled: async (bid: string): Promise<boolean> =>
      (await redis.hexists(keys.batch(bid).meta, 'cancelled')) === 1,
  };
}
