// bench fleet: batches on real processes against a scripted model that takes 200 ms: tasks a second with 1, 10, 100 and 500 at a time and
// with two workers beside one, what tasks that wait for the model take of memory and processor, and a batch of small tasks beside as many
// runs of `odin run`, one after the other.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type BatchWorld, withBatchWorld } from '../test/support/batch-world.ts';
import { startWorker } from '../test/support/kill-workers.ts';
import { until } from '../test/support/until.ts';
import { watchTree } from './process-tree.ts';
import { atMost, type BenchReport, report } from './report.ts';

const LAUNCHER = fileURLToPath(new URL('../bin/odin.js', import.meta.url));
const MODEL_MS = 200;
/** What the beginning of many tasks leaves to be done is done; how long it is looked at then: all that it does every so often. */
const SETTLE_MS = 5_000;
const IDLE_MS = 30_000;
const SMALL_TASKS = 100;
/** Runs of `odin run` that are really made; the rest are taken to be like these. */
const RUNS = 5;
const AT_A_TIME = [1, 10, 100, 500] as const;
/** One worker beside two: tasks at a time of each, and of how many. In turns, so that what else the machine does hits both. */
const PAIR = { concurrency: 4, tasks: 80, rounds: 2 } as const;

export async function benchFleet(): Promise<BenchReport> {
  const loads = [];
  for (const concurrency of AT_A_TIME)
    loads.push(await load(1, concurrency, Math.max(8, Math.min(2 * concurrency, concurrency + 100))));
  const waits = [];
  const idle = [];
  for (const agents of AT_A_TIME) {
    const { peakMb, percent } = await waiting(agents);
    waits.push(peakMb);
    idle.push(percent);
  }
  const { one, two } = await pair();
  const { batchMs, runMs } = await smallTasks();
  const [few = 0, many = 0] = [waits[0], waits.at(-1)];
  const perTask = (many - few) / ((AT_A_TIME.at(-1) ?? 0) - 1);
  const figures = [
    ...loads.map((perSecond, i) => ({
      name: `tasks a second, ${AT_A_TIME[i]} at a time`,
      unit: '/s',
      odin: perSecond,
      floor: (AT_A_TIME[i] ?? 0) * (1000 / MODEL_MS),
    })),
    ...waits.map((peakMb, i) => ({
      name: `memory, ${AT_A_TIME[i]} that wait for the model`,
      unit: 'MB',
      odin: peakMb,
      floor: null,
    })),
    ...idle.map((percent, i) => ({
      name: `processor time, ${AT_A_TIME[i]} that wait for the model`,
      unit: '%',
      odin: percent,
      floor: null,
    })),
    { name: 'tasks a second, two workers beside one', unit: '/s', odin: two, floor: one },
    { name: `${SMALL_TASKS} small tasks beside as many runs`, unit: 'ms', odin: batchMs, floor: runMs * SMALL_TASKS },
  ];
  return report('fleet', figures, [
    atMost(`one worker against two, ${PAIR.concurrency} tasks at a time`, one / two, 1 / 1.7, 'times'),
    atMost('a batch of small tasks against as many runs', batchMs / (runMs * SMALL_TASKS), 0.1, 'times'),
    atMost('memory of one more task at a time', perTask, 5, 'MB'),
    atMost('memory of 500 tasks that wait, over one', many - few, 150, 'MB'),
    atMost('processor time of 500 tasks that wait', idle.at(-1) ?? 0, 1, '%'),
  ]);
}

/** Tasks a second of one worker and of two. */
async function pair(): Promise<{ readonly one: number; readonly two: number }> {
  const { concurrency, tasks, rounds } = PAIR;
  let [one, two] = [0, 0];
  for (let i = 0; i < rounds; i++) {
    one += (await load(1, concurrency, tasks)) / rounds;
    two += (await load(2, concurrency, tasks)) / rounds;
  }
  return { one, two };
}

/** What one worker takes when so many of its tasks wait for the model at the same moment: memory in MB, and of a processor. */
async function waiting(agents: number): Promise<{ readonly peakMb: number; readonly percent: number }> {
  const answer = Promise.withResolvers<void>();
  return withBatchWorld(
    async ({ userText }) => {
      if (userText.includes('question')) await answer.promise;
      return { text: 'Done.' };
    },
    async (world) => {
      const worker = startWorker(world, agents);
      await warmUp(world, 1);
      const before = world.server.requests.length;
      const tree = watchTree(worker.pid ?? 0, '', 100);
      const { bid } = await world.submit(Array.from({ length: agents }, (_, i) => ({ prompt: `question ${i}` })));
      await until(() => world.server.requests.length - before === agents);
      const { peakBytes } = tree.seen();
      await delay(SETTLE_MS);
      const [{ cpuMs }, since] = [tree.seen(), performance.now()];
      await delay(IDLE_MS);
      const percent = (100 * (tree.stop().cpuMs - cpuMs)) / (performance.now() - since);
      answer.resolve();
      await world.ended(bid);
      await ended(worker);
      return { peakMb: peakBytes / 2 ** 20, percent };
    },
  );
}

async function ended(worker: ChildProcess): Promise<void> {
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
}

/** Workers that are up take a batch: tasks a second from the submission to the last result. */
async function load(workers: number, concurrency: number, tasks: number): Promise<number> {
  return withBatchWorld(
    () => ({ text: 'Done.', delayMs: MODEL_MS }),
    async (world) => {
      const running = Array.from({ length: workers }, () => startWorker(world, concurrency));
      await warmUp(world, workers);
      const startedAt = performance.now();
      const { bid } = await world.submit(Array.from({ length: tasks }, (_, i) => ({ prompt: `question ${i}` })));
      const { counts } = await world.ended(bid);
      const seconds = (performance.now() - startedAt) / 1000;
      if (counts.completed !== tasks) throw new Error(`Only ${counts.completed} of ${tasks} tasks were completed.`);
      await Promise.all(running.map(ended));
      return tasks / seconds;
    },
  );
}

/** Every worker has run something: what loads with the first task is loaded. */
async function warmUp(world: BatchWorld, workers: number): Promise<void> {
  const { bid } = await world.submit(Array.from({ length: 4 * workers }, (_, i) => ({ prompt: `warm ${i}` })));
  await world.ended(bid);
}

/** A model that answers at once: what is measured is Odin's own. Both are whole commands, started as a user starts them. */
async function smallTasks(): Promise<{ readonly batchMs: number; readonly runMs: number }> {
  return withBatchWorld(
    () => ({ text: 'Done.' }),
    async (world) => {
      const run = async (args: readonly string[], input = ''): Promise<number> => {
        const env = {
          ...process.env,
          ODIN_HOME: world.home,
          ANTHROPIC_API_KEY: 'bench',
          ANTHROPIC_BASE_URL: world.server.url,
        };
        const startedAt = performance.now();
        const child = spawn(process.execPath, [LAUNCHER, ...args, '--model', 'anthropic/scripted'], {
          cwd: world.project,
          env,
          stdio: ['pipe', 'ignore', 'ignore'],
        });
        child.stdin.end(input);
        const [code] = await once(child, 'exit');
        if (code !== 0) throw new Error(`odin ${args.join(' ')} ended with ${String(code)}.`);
        return performance.now() - startedAt;
      };
      const times: number[] = [];
      for (let i = 0; i <= RUNS; i++) times.push(await run(['run', `question ${i}`, '--mode', 'ask']));
      // The first fills the caches of both.
      const runMs = times.slice(1).reduce((sum, ms) => sum + ms, 0) / RUNS;
      const lines = Array.from({ length: SMALL_TASKS }, (_, i) => JSON.stringify({ prompt: `task ${i}`, mode: 'ask' }));
      const batchMs = await run(['batch', 'submit', '-', '--run', '8'], lines.join('\n'));
      return { batchMs, runMs };
    },
  );
}
