// Commands that try to use the machine up (SAFETY 2.4, 4). What is looked at is the machine, not what the command says.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findProcessLimit, MAX_PROCESSES, shellLimits } from '../../../orchestrator/exec/limits.ts';
import { withEnoughTime } from '../../support/enough-time.ts';
import { openExecBench, processesWith, sandboxHere, UNCONFINED } from '../../support/exec-bench.ts';
import { until } from '../../support/until.ts';

const here = await sandboxHere();
const limit = findProcessLimit();
if (limit.kind === 'none') process.stderr.write(`${limit.reason} Fork bombs are not tried here.\n`);

const LIMIT = 60;
/** Each of its processes has the word in its command line and ignores SIGTERM. */
const bomb = (word: string) => `trap '' TERM; bomb() { bomb | bomb & }; bomb; while :; do :; done # ${word}`;

/** Starts more processes than may be, and goes on at the first that the shell cannot start, or tries again to, or when all are there. */
const untilRefused = `exec 3< <((for i in {1..${2 * LIMIT}}; do sleep 9 & done; echo all) 2>&1); read -r -u 3 _;`;

/** Those that this process has made. */
const cgroups = () =>
  limit.kind === 'cgroup' ? readdirSync(limit.folder).filter((name) => name.startsWith(`odin-${process.pid}-`)) : [];

const kinds = [...(here ? [['in the sandbox', here] as const] : []), ['without a sandbox', UNCONFINED] as const];

test.each(limit.kind === 'none' ? [] : kinds)(
  'SAFETY 4: a fork bomb %s stays below its limit, ends at its time limit, and leaves no process behind',
  async (_kind, found) => {
    const bench = openExecBench(found, undefined, LIMIT);
    const word = `odin-bomb-${process.pid}-${Math.random()}`;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, processesWith(word).length);
    }, 20);
    try {
      // So long that it has come to its limit by then, and was seen there.
      await withEnoughTime(700, async (timeoutMs) => {
        const result = await bench.run(bomb(word), { timeoutMs });
        expect(result).toMatchObject({ stopped: 'timeout' });
        const isRefused = /fork: .*Resource temporarily unavailable/.test(result.output.head);
        return (isRefused && most > LIMIT / 2) || undefined;
      });
      // Where nobody counts by sandbox, what the user runs besides is allowed for; here only the bomb has the word.
      expect(most).toBeLessThanOrEqual(limit.kind === 'cgroup' ? LIMIT : 4 * LIMIT + 1_000);
      expect(processesWith(word)).toEqual([]);
      expect(spawnSync('true').status).toBe(0);
      // That of the shim that is prepared for the next command.
      if (limit.kind === 'cgroup') await until(() => cgroups().length > 0);
    } finally {
      clearInterval(watch);
      await bench.close();
    }
    // It goes with Odin.
    await until(() => cgroups().length === 0);
  },
);

if (here && limit.kind !== 'none') {
  test('SAFETY 4: a command in the sandbox cannot lift its limits, nor leave the group that they hold for', async () => {
    const bench = openExecBench(here, undefined, LIMIT);
    try {
      const { output } = await bench.run(`
        ulimit -Hu unlimited; ulimit -u unlimited; ulimit -f unlimited; ulimit -t unlimited
        for f in $(find /sys/fs/cgroup -name cgroup.procs -o -name tasks -o -name pids.max 2>/dev/null | head -50); do
          echo $$ > $f; echo max > $f
        done
        ulimit -Hf; ulimit -Ht
        ${untilRefused} set -- /proc/[0-9]*; echo $# > most`);
      expect(Number(readFileSync(join(bench.root, 'most'), 'utf8'))).toBeGreaterThan(LIMIT / 2);
      expect(Number(readFileSync(join(bench.root, 'most'), 'utf8'))).toBeLessThanOrEqual(LIMIT + 2);
      expect(output.head).not.toContain('unlimited\n');
    } finally {
      await bench.close();
    }
  });

  test('SAFETY 2.4: who is not root is limited by sandbox, whatever else runs in the same name', async () => {
    // Root's own home cannot be masked in nobody's name, so this is not the whole profile; the namespaces are the same.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const limits = shellLimits({ kind: 'user' }, { confined: true, timeoutMs: null, max: LIMIT });
    const script = `${limits} ${untilRefused} echo /proc/[0-9]*`;
    const view = ['--cap-drop', 'ALL', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
    const argv = ['--unshare-user', '--unshare-pid', '--disable-userns', ...view, '--', '/bin/bash', '-c', script];
    const count = async () => {
      const child = spawn('bwrap', argv, { ...nobody, stdio: ['ignore', 'pipe', 'ignore'] });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      await once(child, 'close');
      return output.trim().split(' ').length;
    };
    for (const counted of await Promise.all([count(), count()])) {
      expect(counted).toBeGreaterThan(LIMIT / 2);
      expect(counted).toBeLessThanOrEqual(LIMIT + 1);
    }
  });
}

test('SAFETY 2.4: a command has room for large builds, a largest file, and so much time on the processors', async () => {
  const bench = openExecBench(UNCONFINED);
  try {
    expect(MAX_PROCESSES).toBeGreaterThanOrEqual(1_024);
    const { output } = await bench.run('ulimit -f; ulimit -t; cat /proc/self/oom_score_adj 2>/dev/null || echo 800', {
      timeoutMs: 10_000,
    });
    const [file, time, oom] = output.head.trim().split('\n').map(Number);
    expect(file).toBe(16 * 1024 * 1024);
    expect(time).toBeGreaterThanOrEqual(70);
    expect(oom).toBe(800);
    expect((await bench.run('ulimit -t', { timeoutMs: null })).output.head).toBe('unlimited\n');
    const { exitCode } = await bench.run(
      'truncate -s 17G large; dd if=/dev/zero of=large bs=1 count=1 seek=17G status=none',
    );
    expect(exitCode).not.toBe(0);
    expect(existsSync(join(bench.root, 'large'))).toBe(true);
  } finally {
    await bench.close();
  }
});
