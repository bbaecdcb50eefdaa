// The project's batches and the workers that there are (SPEC O25), as a page shows them: how far, how fast, how long still, what failed.
// Redis is asked once for all readers, and only while there are any.

import type { FastifyInstance } from 'fastify';
import { type BatchStatus, ITEM_STATUSES, type ItemResult, openBatchStore } from '../orchestrator/batch/store.ts';
import { beat, type SeenWorker } from '../orchestrator/jobs/workers.ts';
import { keys } from '../orchestrator/keys.ts';
import type { OdinRedis } from '../orchestrator/redis.ts';
import type { ShowSafely } from './show-safely.ts';

export interface ShownBatch extends BatchStatus {
  readonly done: number;
  /** Tasks in a minute, of late; null while too little is known. */
  readonly perMinute: number | null;
  readonly leftMs: number | null;
}

export interface Fleet {
  readonly batches: readonly ShownBatch[];
  readonly workers: readonly Omit<SeenWorker, 'startTime' | 'roots'>[];
}

export interface FleetWatch {
  read(): Promise<Fleet>;
}

const FRESH_MS = 1_000;
/** What is over, or another project's, is looked at again so seldom: it may be begun anew. */
const STALE_MS = 15_000;
/** The rate is that of so long. */
const RATE_MS = 60_000;
const MOST_BATCHES = 50;
const CHUNK = 500;

interface Sample {
  readonly at: number;
  readonly done: number;
}

export function watchFleet(redis: OdinRedis, root: string, now: () => number): FleetWatch {
  const store = openBatchStore(redis);
  const samples = new Map<string, Sample[]>();
  /** Null: not of this project. */
  const settled = new Map<string, BatchStatus | null>();
  let settledAt = now();
  let newest: { readonly at: number; readonly fleet: Promise<Fleet> } | null = null;

  const shown = (status: BatchStatus): ShownBatch => {
    const done = ITEM_STATUSES.reduce((sum, name) => sum + status.counts[name], 0);
    const at = now();
    const kept = (samples.get(status.bid) ?? []).filter((sample) => at - sample.at < RATE_MS);
    const first = kept[0];
    samples.set(status.bid, [...kept, { at, done }]);
    const isOver = status.endedAt !== null || status.cancelled;
    const perMs = isOver || first === undefined || at === first.at ? 0 : (done - first.done) / (at - first.at);
    return {
      ...status,
      done,
      perMinute: perMs === 0 ? null : perMs * 60_000,
      leftMs: perMs === 0 ? null : (status.total - done) / perMs,
    };
  };
  const statuses = async (): Promise<readonly (BatchStatus | null)[]> => {
    if (now() - settledAt > STALE_MS) settled.clear();
    if (settled.size === 0) settledAt = now();
    const bids = await redis.zrevrange(keys.batches, 0, -1);
    return Promise.all(
      bids.map(async (bid) => {
        const known = settled.get(bid);
        if (known !== undefined) return known;
        const status = await store.status(bid);
        const own = status?.root === root ? status : null;
        if (own === null || own.endedAt !== null) settled.set(bid, own);
        return own;
      }),
    );
  };
  const read = async (): Promise<Fleet> => {
    const [all, workers] = await Promise.all([statuses(), beat(redis, null)]);
    const own = all.filter((batch) => batch !== null).slice(0, MOST_BATCHES);
    return { batches: own.map(shown), workers: workers.map(({ startTime: _, roots: __, ...worker }) => worker) };
  };
  return {
    read() {
      if (newest === null || now() - newest.at >= FRESH_MS) newest = { at: now(), fleet: read() };
      return newest.fleet;
    },
  };
}

/** `GET /api/batches/ID/results[?status=failed]`: the results so far as JSON lines, in the order of their tasks. */
export function addBatchResults(
  app: FastifyInstance,
  { redis, root, show }: { readonly redis: OdinRedis; readonly root: string; readonly show: ShowSafely },
): void {
  const store = openBatchStore(redis);
  app.get<{ Params: { bid: string }; Querystring: { status?: string } }>(
    '/api/batches/:bid/results',
    async (request, reply) => {
      const { bid } = request.params;
      const status = await store.status(bid);
      if (status?.root !== root) return reply.code(404).send({ error: 'There is no such batch in this project.' });
      const wanted = request.query.status;
      const items = await store.items(bid);
      const results: ItemResult[] = [];
      for (let at = 0; at < items.length; at += CHUNK) {
        const chunk = await store.results(bid, items.slice(at, at + CHUNK));
        results.push(
          ...(chunk.filter((one) => one !== null && (wanted === undefined || one.status === wanted)) as ItemResult[]),
        );
      }
      const lines = results.toSorted((a, b) => a.line - b.line).map((result) => `${JSON.stringify(show(result))}\n`);
      return reply.type('application/x-ndjson; charset=utf-8').send(lines.join(''));
    },
  );
}
