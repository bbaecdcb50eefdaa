import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type HeavyPool, openAgentThreads, openHeavyPool, openPagePool } from '../../orchestrator/pool.ts';
import type { AgentTask } from '../../shared/agent-frames.ts';

const ODD = new URL('../fixtures/heavy-odd.ts', import.meta.url);
const BOUND = new URL('../fixtures/heavy-bound.ts', import.meta.url);
const HELD = new URL('../fixtures/agents-held.ts', import.meta.url);
const BROKEN = new URL('../fixtures/heavy-broken.ts', import.meta.url);
const open: HeavyPool[] = [];
const never = new AbortController().signal;

function openPool(url?: URL): HeavyPool {
  const pool = openHeavyPool(url);
  open.push(pool);
  return pool;
}

const send = (pool: HeavyPool, pattern: string, signal = never, path = '/') =>
  pool.run('glob', { pattern, path, limit: 1 }, signal);

let folder: string;
let started = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'odin-pool-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Sends a task and resolves when its thread has begun with it. */
async function sendAndStart(pool: HeavyPool, pattern: string, signal: AbortSignal) {
  const path = join(folder, String(started++));
  const settled = send(pool, pattern, signal, path);
  while (!existsSync(path)) await nextTurn();
  return { settled };
}

afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

test('C3: a task runs in a thread of its own, not on the main thread, and sees no keys of the environment', async () => {
  process.env.ODIN_TEST_KEY = 'secret';
  const outcome = await send(openPool(ODD), 'hello');
  delete process.env.ODIN_TEST_KEY;
  expect(outcome).toMatchObject({ ok: true, value: { thread: expect.any(Number), key: null } });
  expect((outcome as unknown as { value: { thread: number } }).value.thread).toBeGreaterThan(0);
});

test('E11: aborting a task that spins ends its thread, and the pool goes on', async () => {
  const pool = openPool(ODD);
  await send(pool, 'warm');
  const abort = new AbortController();
  const spinning = await sendAndStart(pool, 'spin', abort.signal);
  abort.abort();
  expect(await spinning.settled).toMatchObject({ ok: false, failure: { kind: 'cancelled' } });
  expect(await send(pool, 'after')).toMatchObject({ ok: true });
});

test('C3: what waits behind tasks that are aborted still runs', async () => {
  const pool = openPool(ODD);
  const abort = new AbortController();
  const spinning = [await sendAndStart(pool, 'spin', abort.signal), await sendAndStart(pool, 'spin', abort.signal)];
  const behind = [send(pool, 'a'), send(pool, 'b'), send(pool, 'c')];
  abort.abort();
  for (const { settled } of spinning) expect(await settled).toMatchObject({ failure: { kind: 'cancelled' } });
  for (const outcome of await Promise.all(behind)) expect(outcome).toMatchObject({ ok: true });
});

test('E11: a task that is asked to stop and does keeps its thread', async () => {
  const pool = openPool(ODD);
  const before = await send(pool, 'x');
  const abort = new AbortController();
  const waiting = await sendAndStart(pool, 'wait', abort.signal);
  abort.abort();
  expect(await waiting.settled).toMatchObject({ failure: { kind: 'cancelled' } });
  expect(await send(pool, 'x')).toEqual(before);
});

test('E11: a task that is cancelled before its thread has started never starts', async () => {
  const pool = openPool(ODD);
  const abort = new AbortController();
  const path = join(folder, 'never');
  const sent = send(pool, 'spin', abort.signal, path);
  abort.abort();
  expect(await sent).toMatchObject({ failure: { kind: 'cancelled' } });
  expect(existsSync(path)).toBe(false);
});

test('C3: a task that waits for a thread is cancelled without one', async () => {
  const pool = openPool(ODD);
  const holding = new AbortController();
  const held = [await sendAndStart(pool, 'wait', holding.signal), await sendAndStart(pool, 'wait', holding.signal)];
  const abort = new AbortController();
  const waiting = send(pool, 'x', abort.signal);
  abort.abort();
  expect(await waiting).toMatchObject({ failure: { kind: 'cancelled' } });
  holding.abort();
  for (const { settled } of held) expect(await settled).toMatchObject({ failure: { kind: 'cancelled' } });
});

test('C3: only so many tasks may wait; one more is told to come later', async () => {
  const pool = openPool(ODD);
  const abort = new AbortController();
  const all = Array.from({ length: 80 }, () => send(pool, 'wait', abort.signal));
  const refused = await all.at(-1);
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'transient', code: 'pool_busy' } });
  abort.abort();
  await Promise.all(all);
});

test('E3: a thread that dies or throws fails its own task only', async () => {
  const pool = openPool(ODD);
  const [died, threw, fine] = await Promise.all([send(pool, 'die'), send(pool, 'throw'), send(pool, 'fine')]);
  expect(died).toMatchObject({ ok: false, failure: { kind: 'failed', code: 'thread_failed' } });
  expect(threw).toMatchObject({ ok: false, failure: { message: expect.stringContaining('it broke inside') } });
  expect(fine).toMatchObject({ ok: true });
});

test('C3: threads that cannot start fail their tasks, and the next task gets new ones', async () => {
  const entry = join(folder, 'heavy.mts');
  await cp(BROKEN, entry);
  const pool = openPool(pathToFileURL(entry));
  expect(await send(pool, 'x')).toMatchObject({
    ok: false,
    failure: { code: 'thread_failed', message: expect.stringContaining('no-such-module') },
  });
  await cp(ODD, entry);
  expect(await send(pool, 'x')).toMatchObject({ ok: true });
});

test('C3: closing cancels what runs and what waits', async () => {
  const pool = openHeavyPool(ODD);
  const spinning = await sendAndStart(pool, 'spin', never);
  const all = [spinning.settled, send(pool, 'wait'), send(pool, 'wait')];
  await pool.close();
  for (const outcome of await Promise.all(all)) expect(outcome).toMatchObject({ failure: { kind: 'cancelled' } });
  expect(await send(pool, 'x')).toMatchObject({ failure: { kind: 'cancelled' } });
});

test('O20: the thread for pages sees no environment, reads files alone, and is ended when it takes too much memory', async () => {
  const pool = openPagePool(BOUND);
  open.push(pool);
  const page = (url: string) =>
    pool.run('page', { bytes: new Uint8Array(1), contentType: 'text/html', charset: null, url }, never);
  const denied = 'ERR_ACCESS_DENIED';
  const bounds = { ok: true, value: { write: denied, child: denied, worker: denied, read: 'done', env: 0 } };
  expect(await page('https://try.test/')).toEqual(bounds);
  expect(await page('https://memory.test/')).toMatchObject({ ok: false, failure: { code: 'thread_memory' } });
  expect(await page('https://try.test/')).toEqual(bounds);
});

test('C3 C5: an agent’s thread that is held up in a call of the system is given up, and hides none that loops', async () => {
  const threads = openAgentThreads({ workerUrl: HELD, silentMs: 250 });
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const run = (inc: number) => {
    const { port1, port2 } = new MessageChannel();
    const task = { inc, root: pipe } as AgentTask;
    return threads.run(task, port2).then(
      () => 'ended',
      () => {
        port1.close();
        return 'given up';
      },
    );
  };
  try {
    // The third life is in a thread of its own.
    expect(await Promise.all([run(1), run(3)])).toEqual(['given up', 'given up']);
  } finally {
    // Only now can it end.
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    await threads.close();
  }
});
