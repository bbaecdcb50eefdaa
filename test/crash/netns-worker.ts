// A round of netns.ts with two `odin worker`, as on two machines: each has a home of its own and the repository. The one on the island
// takes the task and is cut off; the other one is outside.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBatchQueues } from '../../orchestrator/batch/jobs.ts';
import { readTasks } from '../../orchestrator/batch/read-tasks.ts';
import { openBatchStore } from '../../orchestrator/batch/store.ts';
import { submitBatch } from '../../orchestrator/batch/submit.ts';
import { ensureJobKey, jobKeyFile } from '../../orchestrator/jobs/job-key.ts';
import type { RedisHandle } from '../../orchestrator/redis.ts';
import { makeRepository } from '../support/batch-world.ts';
import { EFFECT, promptOf, type Trace, tracesOf } from '../support/netns-steps.ts';
import { atLast, type CutPlan, cut, type Round, type Stage } from './netns-judge.ts';
import { readOr } from './netns-owner.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/odin.js', import.meta.url));

export async function cutOffWorker(stage: Stage, handle: RedisHandle, plan: CutPlan): Promise<Round> {
  const { folder, island, redisUrl, models } = stage;
  const { name, atStep, isLong } = plan;
  const project = join(folder, name);
  const files = { 'ODIN.md': '# Cut off\n', 'effect.sh': EFFECT, [`tokens-${name}.txt`]: 'end\n' };
  makeRepository(project, files);
  const homes = { inside: join(folder, `${name}-inside`), outside: join(folder, `${name}-outside`) };
  const key = ensureJobKey(homes.outside);
  for (const home of Object.values(homes)) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(jobKeyFile(home), `${key.toString('hex')}\n`, { mode: 0o600 });
    writeFileSync(join(home, 'config.json'), JSON.stringify({ worker: { allow: ['sh effect.sh'] } }));
  }
  const log = () => {};
  const store = openBatchStore(handle.client);
  const queues = openBatchQueues(handle, { key, log });
  const children: ChildProcess[] = [];
  const live = (where: 'inside' | 'outside'): void => {
    const argv = [process.execPath, LAUNCHER, 'worker', '--concurrency', '1', '--drain', '5'];
    const { NODE_OPTIONS: _options, ...env } = process.env;
    const options = {
      cwd: project,
      env: {
        ...{ ...env, ODIN_HOME: homes[where], REDIS_URL: redisUrl },
        ...{ ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: models[where] },
      },
    };
    const all = [...argv, '--model', 'anthropic/scripted'];
    children.push(
      where === 'inside'
        ? island.spawn(all, options)
        : spawn(process.execPath, all.slice(1), { ...options, stdio: ['pipe', 'ignore', 'ignore'] }),
    );
  };
  try {
    live('inside');
    const text = JSON.stringify({ id: name, prompt: promptOf(name, isLong ? atStep : null), mode: 'edit' });
    const tasks = await readTasks(text, 'tasks.jsonl');
    const more = { name: 'tasks.jsonl', cwd: project, defaults: { mode: 'ask' }, caps: {} } as const;
    const { bid } = await submitBatch(store, queues.queueOf, { tasks, ...more });
    // A working copy goes away with its task, so what it says is kept as it comes.
    const seen = { inside: [] as readonly Trace[], outside: [] as readonly Trace[] };
    const look = (): readonly Trace[] => {
      for (const where of ['inside', 'outside'] as const) {
        const found = tracesOf(readOr(join(`${homes[where]}-worktrees`, bid, `${name}.0`, `effects-${name}.log`)));
        if (found.length > 0) seen[where] = found;
      }
      return [...seen.inside, ...seen.outside];
    };
    const looking = setInterval(look, 20);
    const findings: string[] = [];
    try {
      if (!(await atLast(() => look().some(({ step }) => step === atStep)))) {
        throw new Error(`The task did not come to its step ${atStep}; ODIN_TEST_SHOW=1 shows what the worker says.`);
      }
      live('outside');
      const [, first] = [...(await store.runs(bid))][0] ?? [];
      const takenAt = async (): Promise<number | null> => {
        const [, run] = [...(await store.runs(bid))][0] ?? [];
        const isOther = run !== undefined && first !== undefined && run.worker !== first.worker;
        if (isOther) taken ??= run.at;
        return taken;
      };
      let taken: number | null = null;
      const times = await cut(stage, plan, takenAt);
      const ended = async () => (await takenAt(), (await store.status(bid))?.endedAt ?? null) !== null;
      if (!(await atLast(ended))) findings.push('the task did not end');
      look();
      const [result] = await store.results(bid, [name]);
      const kept = tracesOf((await store.patch(bid, name)) ?? '');
      const counts = Object.values((await store.status(bid))?.counts ?? {}).reduce((sum, n) => sum + n, 0);
      const completed = result?.status === 'completed';
      if (!completed) findings.push(`the result is ${result?.status}: ${result?.answer}`);
      const traces = [...look(), ...kept];
      return { plan, ...times, takenAt: taken, traces, kept, ends: counts, completed, findings };
    } finally {
      clearInterval(looking);
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await queues.close();
  }
}
