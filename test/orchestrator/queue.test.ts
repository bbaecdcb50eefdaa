import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claimEvent } from '../../orchestrator/claim-event.ts';
import { createDispatcher } from '../../orchestrator/dispatcher.ts';
import { claimSession } from '../../orchestrator/journal.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { keys, turnsQueue } from '../../orchestrator/keys.ts';
import { openTurnQueue, type TurnQueue } from '../../orchestrator/queue.ts';
import type { Journaled } from '../../shared/events.ts';
import { ulid } from '../../shared/ids.ts';
import { MODES } from '../../shared/modes.ts';
import { fakeTurn } from '../support/queue-turn.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { startLineChild } from '../support/redis-lines.ts';
import { ask, inboxOf } from '../support/redis-session.ts';
import { until } from '../support/until.ts';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.close());

const unexpected = (error: Error): never => {
  throw error;
};

async function withQueue(
  body: (queue: TurnQueue, ws: string) => Promise<void>,
  onError: (error: Error) => void = unexpected,
): Promise<void> {
  const ws = ulid();
  const queue = await openTurnQueue(redis.handle, ws, onError);
  try {
    await body(queue, ws);
  } finally {
    await queue.close();
  }
}

const logOf = (sid: string): Promise<Journaled[]> => readLog(redis.handle.client, sid, '0');
const answers = (log: readonly Journaled[]): string[] =>
  log.flatMap(({ event }) => (event.type === 'msg.done' && 'inline' in event.answer ? [event.answer.inline] : []));

/** Resolves once so many turns have ended. */
function countdown(count: number): { readonly reached: Promise<void>; down(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return {
    reached: promise,
    down() {
      left -= 1;
      if (left === 0) resolve();
    },
  };
}

test('O6, C2: 1,000 messages from four processes, each sent twice, run once each, in order, with their own mode', async () => {
  await withQueue(async (queue, ws) => {
    const sids = Array.from({ length: 10 }, () => ulid());
    const finished = countdown(1000);
    const turn = fakeTurn(redis.handle, ws);
    queue.work(async (job, signal) => {
      const next = await turn(job, signal);
      const { cursor } = await inbox.head(job.sid);
      if (cursor >= job.seq) finished.down();
      return next;
    });
    const inbox = inboxOf(redis.handle.client, redis.home, ws);
    const submitters = Array.from({ length: 4 }, (_, i) =>
      startLineChild('queue-submitter-child', [redis.home, ws, sids.join(','), `p${i}`, '25']),
    );
    for (const child of submitters) expect(await child.line()).toBe('ready');
    for (const child of submitters) child.send('go');
    await Promise.all(submitters.map((child) => child.exited));
    await finished.reached;
    for (const sid of sids) {
      const log = await logOf(sid);
      const ended = log.flatMap(({ event }) => (event.type === 'msg.done' ? [event.seq] : []));
      expect(ended).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
      const said = answers(log);
      expect(new Set(said).size).toBe(100);
      for (let i = 0; i < 4; i++) {
        const ofOne = said.filter((body) => body.startsWith(`p${i}.`));
        expect(ofOne).toEqual(Array.from({ length: 25 }, (_, n) => `p${i}.${n}`));
      }
      const first = log.flatMap(({ event }) => (event.type === 'update' && /\d/.test(event.text) ? [event.text] : []));
      expect(first).toEqual(said.map((body) => `${MODES[Number(body.split('.')[1]) % 3]} ${body}`));
      expect(log.filter(({ event }) => event.type === 'claim')).toHaveLength(100);
    }
    expect(await redis.handle.client.scard(keys.workspace(ws).pending)).toBe(0);
  });
});

test('C2: a wake-up that was lost, and one whose turn ended without finishing, come again with the next sweep', async () => {
  await withQueue(async (queue, ws) => {
    const inbox = inboxOf(redis.handle.client, redis.home, ws);
    const [lost, unfinished] = [ulid(), ulid()];
    await inbox.submit(ask(lost, 'lost'));
    const { wake } = await inbox.submit(ask(unfinished, 'unfinished'));
    const gaveUp = Promise.withResolvers<void>();
    const finished = countdown(2);
    const turn = fakeTurn(redis.handle, ws);
    const gens: number[] = [];
    queue.work(async (job, signal) => {
      if (job.sid === unfinished) gens.push(job.gen);
      if (job.sid === unfinished && job.gen === 0) {
        gaveUp.resolve();
        return null;
      }
      const next = await turn(job, signal);
      finished.down();
      return next;
    });
    if (wake !== null) await queue.add(wake);
    await gaveUp.promise;
    const key = `{odin}:${turnsQueue(ws)}:${unfinished}_1_0`;
    while ((await redis.handle.client.hget(key, 'finishedOn')) === null) await new Promise(setImmediate);
    await Promise.all([queue.sweep(), queue.sweep()]);
    await finished.reached;
    expect(gens).toEqual([0, 1]);
    expect([answers(await logOf(lost)), answers(await logOf(unfinished))]).toEqual([['lost'], ['unfinished']]);
  });
});

test('C2, O6: a Redis that refuses to write while the queue opens does not close it: what waits runs with the next sweep', async () => {
  const ws = ulid();
  const sid = ulid();
  await inboxOf(redis.handle.client, redis.home, ws).submit(ask(sid, 'waits'));
  const ran = countdown(1);
  const logged: string[] = [];
  let isFull = true;
  const writing = <T>(write: () => Promise<T>): Promise<T> => (isFull ? Promise.reject(new Error('OOM')) : write());
  const dispatcher = createDispatcher({
    runner: {
      async run() {
        ran.down();
        return null;
      },
      abandonAll() {},
    },
    chain: true,
    async openQueue() {
      const queue = await openTurnQueue(redis.handle, ws, unexpected);
      return { ...queue, add: (turn) => writing(() => queue.add(turn)), sweep: () => writing(() => queue.sweep()) };
    },
    waiting: async () => [],
    nameJob: async () => {},
    log: (message) => void logged.push(message),
  });
  try {
    await dispatcher.start();
    expect(logged).toContain('the sweep failed');
    isFull = false;
    await dispatcher.sweep();
    await ran.reached;
  } finally {
    await dispatcher.close();
  }
});

test('C2: the turn of a process that was killed goes on elsewhere with the next sweep', async () => {
  await withQueue(async (queue, ws) => {
    const inbox = inboxOf(redis.handle.client, redis.home, ws);
    const sid = ulid();
    const { wake } = await inbox.submit(ask(sid, 'survives'));
    const worker = startLineChild('queue-worker-child', [redis.home, ws]);
    if (wake !== null) await queue.add(wake);
    expect(await worker.line()).toBe('running 1');
    worker.process.kill('SIGKILL');
    await worker.exited;
    expect((await inbox.sessions())[0]?.status).toBe('interrupted');
    const finished = countdown(1);
    const turn = fakeTurn(redis.handle, ws);
    await queue.sweep();
    queue.work(async (job, signal) => {
      const next = await turn(job, signal);
      finished.down();
      return next;
    });
    await finished.reached;
    const log = await logOf(sid);
    expect(log.map(({ event }) => event.type)).toEqual([
      'claim',
      'update',
      'claim',
      'update',
      'update',
      'update',
      'msg.done',
    ]);
  });
});

test('C2: closing puts running turns back, and whoever works next goes on with them at once', async () => {
  const ws = ulid();
  const sid = ulid();
  const inbox = inboxOf(redis.handle.client, redis.home, ws);
  const first = await openTurnQueue(redis.handle, ws, unexpected);
  const started = Promise.withResolvers<void>();
  first.work(
    fakeTurn(redis.handle, ws, (_turn, signal) => {
      started.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    }),
  );
  const { wake } = await inbox.submit(ask(sid, 'goes on'));
  if (wake !== null) await first.add(wake);
  await started.promise;
  await first.close();
  expect(answers(await logOf(sid))).toEqual([]);
  const second = await openTurnQueue(redis.handle, ws, unexpected);
  const finished = countdown(1);
  const turn = fakeTurn(redis.handle, ws);
  second.work(async (job, signal) => {
    expect(job.gen).toBe(0);
    const next = await turn(job, signal);
    finished.down();
    return next;
  });
  await finished.reached;
  expect(answers(await logOf(sid))).toEqual(['goes on']);
  await second.close();
});

test('C2 SAFETY 6: a job that is not one of ours runs nothing, and is told of', async () => {
  const told: string[] = [];
  await withQueue(
    async (queue, ws) => {
      const { Queue } = await import('bullmq');
      const forger = new Queue(turnsQueue(ws), { connection: redis.handle.client, prefix: '{odin}' });
      const sid = ulid();
      await inboxOf(redis.handle.client, redis.home, ws).submit(ask(sid, 'real'));
      await forger.add('turn', { sid, seq: 1, mode: 'edit', approved: true }, { jobId: 'forged_1' });
      await forger.add('turn', { sid, seq: 'one', mode: 'ask' }, { jobId: 'forged_2' });
      await queue.add({ sid, seq: 1, mode: 'ask', gen: 0 });
      const ran: string[] = [];
      const finished = countdown(1);
      queue.work(async ({ job }) => {
        ran.push(job.id);
        finished.down();
        return null;
      });
      await finished.reached;
      expect(ran).toEqual([`${sid}_1_0`]);
      await until(() => told.length === 2);
      expect(told.toSorted()).toEqual([
        expect.stringMatching(/^Job forged_1 was refused/),
        expect.stringMatching(/^Job forged_2 was refused/),
      ]);
      await forger.close();
    },
    ({ message }) => told.push(message),
  );
});

test("C2 SAFETY 6: a job that names another project's session cannot claim it; its own project can", async () => {
  const { client } = redis.handle;
  const sid = ulid();
  await inboxOf(client, redis.home, 'theirs').submit(ask(sid, 'for another project'));
  const claim = claimEvent(1, Date.now());
  expect(await claimSession(client, { sid, seq: 1, ws: 'ours', claim })).toEqual({ status: 'foreign' });
  expect(await logOf(sid)).toEqual([]);
  expect((await claimSession(client, { sid, seq: 1, ws: 'theirs', claim })).status).toBe('ok');
});

test('C2: many sessions run side by side, one message of each at a time', async () => {
  await withQueue(async (queue, ws) => {
    const inbox = inboxOf(redis.handle.client, redis.home, ws);
    const sids = Array.from({ length: 8 }, () => ulid());
    let running = 0;
    let most = 0;
    const ofSession = new Set<string>();
    const finished = countdown(24);
    const together = countdown(8);
    const turn = fakeTurn(redis.handle, ws, async ({ sid, seq }) => {
      expect(ofSession.has(sid)).toBe(false);
      ofSession.add(sid);
      running += 1;
      most = Math.max(most, running);
      if (seq === 1) {
        together.down();
        await together.reached;
      }
      running -= 1;
      ofSession.delete(sid);
    });
    for (const sid of sids) {
      for (const body of ['a', 'b', 'c']) {
        const { wake } = await inbox.submit(ask(sid, body));
        if (wake !== null) await queue.add(wake);
      }
    }
    queue.work(async (job, signal) => {
      const next = await turn(job, signal);
      finished.down();
      return next;
    });
    await finished.reached;
    expect(most).toBe(8);
  });
});
