import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { applyPatch, branchOf } from '../../../orchestrator/batch/git.ts';
import { accessOf } from '../../../orchestrator/batch/jobs.ts';
import { taskHash } from '../../../orchestrator/batch/store.ts';
import { projectsOf } from '../../../orchestrator/batch/submit.ts';
import { signJob } from '../../../orchestrator/jobs/sign-job.ts';
import { beat, serves } from '../../../orchestrator/jobs/workers.ts';
import { batchQueue, keys, PREFIX } from '../../../orchestrator/keys.ts';
import { type BatchWorld, git, withBatchWorld } from '../../support/batch-world.ts';
import { until } from '../../support/until.ts';

/** "write NAME" writes a file of that name; "fail" is refused by the model's server; all else is answered. */
const script: Script = ({ userText, stepOfMessage }) => {
  const name = /write (\S+)/.exec(userText)?.[1];
  if (userText.includes('please fail')) return { fault: 'http_400' };
  if (name === undefined || stepOfMessage > 0) return { text: `Answered ${stepOfMessage}.` };
  return { toolCalls: [{ name: 'WriteFile', args: { file_path: name, content: `${name} was here\n` } }] };
};

const resultOf = async ({ store }: BatchWorld, bid: string, item: string) => (await store.results(bid, [item]))[0];

describe('SPEC O19: a batch', () => {
  test('runs each task once in a copy of its own, though it is submitted twice and two processes work on it', async () => {
    await withBatchWorld(script, async (world) => {
      const tasks = Array.from({ length: 16 }, (_, i) =>
        i % 2 === 0 ? { id: `w${i}`, prompt: `write f${i}.txt`, mode: 'edit' } : { prompt: `question ${i}` },
      );
      const [first, second] = [await world.submit(tasks), await world.submit(tasks)];
      expect([first.isNew, second.isNew, second.bid]).toEqual([true, false, first.bid]);
      const runners = await Promise.all([world.run(), world.run()]);
      await world.submit(tasks);
      const status = await world.ended(first.bid);
      expect(status.counts).toEqual({ completed: 16, failed: 0, limit: 0, cancelled: 0, skipped: 0 });
      expect(world.server.requests).toHaveLength(8 * 2 + 8);
      expect(git(world.project, 'status', '--porcelain')).toBe('');
      const result = await resultOf(world, first.bid, 'w4');
      expect(result).toMatchObject({ status: 'completed', files: ['f4.txt'], answer: 'Answered 1.', steps: 2 });
      const patch = (await world.store.patch(first.bid, 'w4')) ?? '';
      expect(patch).toContain('+f4.txt was here');
      expect(await applyPatch(world.project, patch)).toBe('applied');
      expect(await applyPatch(world.project, patch)).toBe('already');
      expect(git(world.project, 'status', '--porcelain')).toBe('?? f4.txt\n');
      await Promise.all(runners.map((runner) => runner.drain(60_000)));
      const copies = `${world.home}-worktrees`;
      expect(existsSync(copies) ? readdirSync(copies) : []).toEqual([]);
      // Files are named after tasks: a result with a name that is none is refused, whoever has put it there.
      const forged = JSON.stringify({ ...result, id: '../../w4' });
      await world.handle.client.hset(keys.batch(first.bid).results, 'w4', forged);
      await expect(resultOf(world, first.bid, 'w4')).rejects.toThrow('must be 1 to 64 letters');
      // A worker that cannot begin does not go on saying that it is there.
      const third = await world.submit([{ prompt: 'a question for nobody' }]);
      await world.handle.client.hset(keys.batch(third.bid).runs, 'x', 'no run');
      await expect(world.run()).rejects.toThrow();
      expect(await beat(world.handle.client, null)).toEqual([]);
      // On a machine that stands still for seconds a task may change hands.
      expect(world.refused.filter((why) => !/used before|taken the task over/.test(why))).toEqual([]);
    });
  });

  test('a task waits for those it depends on, and is skipped when one is not completed; retry runs only what was not', async () => {
    let works = false;
    const order: string[] = [];
    const flaky: Script = (turn) => {
      order.push(/task (\w+)/.exec(turn.userText)?.[1] ?? '?');
      return turn.userText.includes('task bad') && !works ? { fault: 'http_400' } : { text: 'Done.' };
    };
    await withBatchWorld(flaky, async (world) => {
      const { bid } = await world.submit([
        { id: 'last', prompt: 'task last', depends_on: ['bad', 'good'] },
        { id: 'bad', prompt: 'task bad' },
        { id: 'good', prompt: 'task good', depends_on: 'first' },
        { id: 'first', prompt: 'task first' },
        { id: 'after', prompt: 'task after', depends_on: 'last' },
      ]);
      await world.run();
      const status = await world.ended(bid);
      expect(status.counts).toMatchObject({ completed: 2, failed: 1, skipped: 2 });
      expect(order.indexOf('first')).toBeLessThan(order.indexOf('good'));
      expect((await resultOf(world, bid, 'after'))?.answer).toContain('"last", which ended as skipped');
      works = true;
      order.length = 0;
      const isForgotten = async () => (await world.handle.client.ttl(`${PREFIX}:batch:${bid}`)) > 0;
      expect([await isForgotten(), await world.store.retry(bid), await isForgotten()]).toEqual([true, 3, false]);
      const { addJobs } = await import('../../../orchestrator/batch/jobs.ts');
      await addJobs(world.store, world.queueOf, bid);
      expect((await world.ended(bid)).counts).toMatchObject({ completed: 5, failed: 0, skipped: 0 });
      expect(order).toEqual(['bad', 'last', 'after']);
      expect([await world.store.retry(bid), await isForgotten()]).toEqual([0, true]);
    });
  });

  test('what is cancelled before it began is over at once, and what runs ends as cancelled', async () => {
    const waits: Script = () => ({ text: 'late', delayMs: 60_000 });
    await withBatchWorld(waits, async (world) => {
      const { bid } = await world.submit([
        { id: 'runs', prompt: 'x' },
        { id: 'waits', prompt: 'y' },
      ]);
      await world.run({ concurrency: 1 });
      await until(() => world.server.requests.length > 0);
      await world.store.markCancelled(bid);
      expect((await world.ended(bid)).counts).toMatchObject({ cancelled: 2, completed: 0 });
      expect(world.server.requests).toHaveLength(1);
    });
  });

  test('a batch that has spent its budget begins no more tasks', async () => {
    await withBatchWorld(script, async (world) => {
      const tasks = Array.from({ length: 5 }, (_, i) => ({ prompt: `question ${i}` }));
      const { bid } = await world.submit(tasks, { caps: { tokens: 1 } });
      await world.run({ concurrency: 1 });
      expect((await world.ended(bid)).counts).toMatchObject({ completed: 1, limit: 4 });
      expect(world.server.requests).toHaveLength(1);
    });
  });

  test('E7: two processes with eight tasks at once keep a batch within its budget, but for one call each', async () => {
    await withBatchWorld(script, async (world) => {
      const tasks = Array.from({ length: 30 }, (_, i) => ({ id: `q${i}`, prompt: `question ${i}` }));
      const { bid } = await world.submit(tasks, { caps: { tokens: 30_000 } });
      const runners = await Promise.all([world.run(), world.run()]);
      const { counts, tokens } = await world.ended(bid);
      expect(counts.completed + counts.limit).toBe(30);
      const results = await world.store.results(
        bid,
        tasks.map(({ id }) => id),
      );
      const largest = Math.max(...results.map((result) => result?.tokens ?? 0));
      expect(counts.completed).toBeGreaterThanOrEqual(Math.floor(30_000 / largest) - 1);
      expect(tokens).toBeLessThanOrEqual(30_000 + runners.length * largest);
      await Promise.all(runners.map((runner) => runner.drain(0)));
      const given = await world.handle.client.hget(`${PREFIX}:batch:${bid}`, 'given:tokens');
      expect(Number(given)).toBeLessThanOrEqual(30_000);
    });
  });

  test('a folder that is no repository, a base that is none and a repository that is not there are told with their lines', async () => {
    await withBatchWorld(script, async (world) => {
      const told = world.submit([
        { prompt: 'x', repo: '..' },
        { prompt: 'x', base: 'no-such' },
        { prompt: 'x', repo: 'gone' },
        { prompt: 'fine' },
      ]);
      await expect(told).rejects.toThrow(
        /jsonl:1: "repo": .*not in a git repository[^]*jsonl:2: "base": [^]*jsonl:3: "repo": there is no folder/,
      );
      expect(await world.store.list()).toEqual([]);
    });
  });

  test('a task of a folder that its commit does not have fails and says so', async () => {
    await withBatchWorld(script, async (world) => {
      mkdirSync(join(world.project, 'sub'));
      writeFileSync(join(world.project, 'sub/ODIN.md'), '# Sub\n');
      git(world.project, 'add', '--all');
      git(world.project, 'commit', '--quiet', '-m', 'second');
      const sub = join(world.project, 'sub');
      const { bid } = await world.submit([
        { id: 'before', prompt: 'x', repo: 'sub', base: 'HEAD~1' },
        { id: 'now', prompt: 'x', repo: 'sub' },
      ]);
      await world.run({ projects: new Map([[sub, sub]]) });
      expect((await world.ended(bid)).counts).toMatchObject({ completed: 1, failed: 1 });
      expect(await resultOf(world, bid, 'before')).toMatchObject({ reason: 'no_folder' });
    });
  });

  test('SAFETY 6: a key in a prompt does not reach Redis', async () => {
    await withBatchWorld(script, async (world) => {
      const secret = `ghp_${'a1B2'.repeat(9)}`;
      const { bid } = await world.submit([{ id: 'one', prompt: `use ${secret} please` }]);
      const [task] = await world.store.tasksOf(bid, ['one']);
      expect(task?.prompt).toMatch(/^use .* please$/);
      expect(JSON.stringify(await world.handle.client.hgetall(`${PREFIX}:batch:${bid}:items`))).not.toContain(secret);
    });
  });

  test('the same id with other tasks is refused', async () => {
    await withBatchWorld(script, async (world) => {
      await world.submit([{ prompt: 'x' }], { id: 'mine' });
      await expect(world.submit([{ prompt: 'y' }], { id: 'mine' })).rejects.toThrow(/another --id/);
      expect((await world.submit([{ prompt: 'x' }], { id: 'mine' })).isNew).toBe(false);
    });
  });

  test('changes become a branch without touching a file, and a conflict applies nothing', async () => {
    await withBatchWorld(
      ({ stepOfMessage }) =>
        stepOfMessage > 1
          ? { text: 'Done.' }
          : stepOfMessage === 0
            ? { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] }
            : { toolCalls: [{ name: 'EditTool', args: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } }] },
      async (world) => {
        const { bid } = await world.submit([{ id: 'edit', prompt: 'edit', mode: 'edit' }]);
        await world.run();
        await world.ended(bid);
        const patch = (await world.store.patch(bid, 'edit')) ?? '';
        const base = git(world.project, 'rev-parse', 'HEAD').trim();
        const made = await branchOf(
          world.project,
          { name: 'odin/edit', base, patch, subject: 'edit' },
          join(world.folder, 'scratch'),
        );
        expect(made).toEqual({ ok: true, value: 'odin/edit' });
        expect(git(world.project, 'show', 'odin/edit:a.txt')).toBe('two\n');
        expect(git(world.project, 'status', '--porcelain')).toBe('');
        writeFileSync(join(world.project, 'a.txt'), 'three\n');
        git(world.project, 'commit', '--quiet', '-am', 'other');
        expect(await applyPatch(world.project, patch)).toBe('conflict');
        expect(git(world.project, 'status', '--porcelain')).toBe('');
      },
    );
  });
});

test('E7 O25: a task is over, and its worker free, though the rest of its budget cannot be given back', async () => {
  let spoil = async (): Promise<unknown> => null;
  const answer: Script = async () => {
    await spoil();
    return { text: 'Done.' };
  };
  await withBatchWorld(answer, async (world) => {
    spoil = () => world.handle.client.hset(keys.batch('spent').meta, 'given:tokens', 'no number');
    await world.submit([{ prompt: 'spend' }], { id: 'spent', caps: { tokens: 100_000 } });
    const runner = await world.run();
    expect((await world.ended('spent')).counts.completed).toBe(1);
    await until(() => runner.load().running === 0);
    expect(await world.handle.client.exists(`${PREFIX}:${batchQueue(world.project, 'read')}:failed`)).toBe(0);
  });
});

describe('SAFETY 6: what a worker is given', () => {
  test('a forged job, one that was changed, a replayed one and one of a mode that is not its queue’s run nothing', async () => {
    await withBatchWorld(script, async (world) => {
      const { store, key, project } = world;
      const { bid } = await world.submit([{ id: 'one', prompt: 'question' }]);
      await world.run();
      await world.ended(bid);
      const asked = world.server.requests.length;
      const [task] = await store.tasksOf(bid, ['one']);
      if (!task) throw new Error('The task is gone.');
      const name = batchQueue(project, accessOf(task));
      const { Queue } = await import('bullmq');
      const queue = new Queue(name, { connection: world.handle.client, prefix: PREFIX });
      const add = (jobId: string, data: object) => queue.add('task', data, { jobId });
      const ids = { bid, item: 'one', gen: 0, hash: taskHash(task) };
      const later = Date.now() + 60_000;
      await add('plain_job', ids);
      await add('forged_job', signJob(Buffer.alloc(32, 1), { queue: name, jobId: 'forged_job' }, ids, later));
      await add('renamed_job', signJob(key, { queue: name, jobId: 'other' }, ids, later));
      await add('replayed_job', signJob(key, { queue: name, jobId: 'replayed_job' }, ids, later));
      await add('expired_job', signJob(key, { queue: name, jobId: 'expired_job' }, ids, 1));
      await world.handle.client.hset(
        `${PREFIX}:batch:${bid}:items`,
        'evil',
        JSON.stringify({ ...task, id: 'evil', mode: 'edit' }),
      );
      await add('evil_job', signJob(key, { queue: name, jobId: 'evil_job' }, { ...ids, item: 'evil' }, later));
      const evil = (await store.tasksOf(bid, ['evil']))[0];
      if (!evil) throw new Error('The task is gone.');
      const wrongQueue = { ...ids, item: 'evil', hash: taskHash(evil) };
      await add('mode_job', signJob(key, { queue: name, jobId: 'mode_job' }, wrongQueue, later));
      await until(() => world.refused.length >= 7);
      await queue.close();
      const told = world.refused.join('\n');
      expect(told).toMatch(/plain_job: .*not of the form/);
      expect(told).toMatch(/forged_job: .*signature/);
      expect(told).toMatch(/renamed_job: .*signature/);
      expect(told).toMatch(/replayed_job: .*used before/);
      expect(told).toMatch(/expired_job: .*time was over/);
      expect(told).toMatch(/evil_job: .*not the one that was signed/);
      expect(told).toMatch(/mode_job: .*queue that is not its own/);
      expect(world.server.requests).toHaveLength(asked);
    });
  });

  test('a worker that may only read leaves tasks that write to others, and one takes no tasks of a project that is not its own', async () => {
    await withBatchWorld(script, async (world) => {
      const { bid } = await world.submit([
        { id: 'reads', prompt: 'question' },
        { id: 'writes', prompt: 'write x.txt', mode: 'edit' },
      ]);
      await world.run({ access: 'read' });
      await world.run({ projects: new Map([['/elsewhere', world.project]]) });
      await until(async () => Boolean(await resultOf(world, bid, 'reads')));
      expect(await resultOf(world, bid, 'writes')).toBeNull();
      const project = { root: world.project, access: 'edit' } as const;
      expect(await projectsOf(world.store, bid)).toEqual([project]);
      const isServed = async (access: 'edit' | 'read') =>
        (await beat(world.handle.client, null)).some((worker) => serves(worker, 'batch', { ...project, access }));
      expect([await isServed('edit'), await isServed('read')]).toEqual([false, true]);
      await world.run();
      expect(await isServed('edit')).toBe(true);
      expect((await world.ended(bid)).counts.completed).toBe(2);
    });
  });
});
