// Shims that are prepared ahead, by a shell beside Odin. Linux alone has them.

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openLauncher } from '../../../orchestrator/exec/launcher.ts';
import { findProcessLimit, MAX_PROCESSES } from '../../../orchestrator/exec/limits.ts';
import { shimState } from '../../../orchestrator/exec/shim.ts';
import { type ExecBench, openExecBench, processesWith, UNCONFINED } from '../../support/exec-bench.ts';
import { must } from '../../support/files-bench.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';
import { until } from '../../support/until.ts';

const isLinux = process.platform === 'linux';
if (!isLinux) process.stderr.write('Only Linux has a launcher; it is not tried here.\n');

/** The parent of a process; 0 when there is no such process. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** A shim that has said that it is ready sleeps until its command comes; what it does before does not sleep. */
function awaitsCommand(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const isAsleep = stat[stat.lastIndexOf(')') + 2] === 'S';
    return isAsleep && Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')) >= 800;
  } catch {
    return false;
  }
}

const openOf = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return [];
    }
  });

/** Launchers of this process, and their shims. */
const shells = () => processesWith('odin-exec').filter((pid) => parentOf(pid) === process.pid);
const shimsOf = (shell: number) => processesWith('odin-exec').filter((pid) => parentOf(pid) === shell);

(isLinux ? describe : describe.skip)('A command that a prepared shim runs', () => {
  let bench: ExecBench;
  beforeAll(() => {
    bench = openExecBench(UNCONFINED);
  });
  afterAll(() => bench.close());

  test('SAFETY 2.4: gets no file that was open where Odin was started', async () => {
    const script = `
      const { openExecBench, UNCONFINED } = await import(${JSON.stringify(import.meta.resolve('../../support/exec-bench.ts'))});
      const { readlinkSync } = await import('node:fs');
      const bench = openExecBench(UNCONFINED);
      const { output } = await bench.run('for fd in /proc/$$/fd/*; do [ ! -e "$fd" ] || echo "\${fd##*/}"; done');
      console.log(JSON.stringify({ own: readlinkSync('/proc/self/fd/40'), command: output.head.trim().split('\\n') }));
      await bench.close();`;
    const open = openSync('/proc/version', 'r');
    try {
      const stdio = Array.from({ length: 41 }, (_, fd) => (fd === 1 ? 'pipe' : fd === 40 ? open : 'ignore'));
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio });
      const said = JSON.parse(await text(child.stdout as NodeJS.ReadableStream));
      // The last one is where the shell ended.
      expect(said).toEqual({ own: '/proc/version', command: ['0', '1', '2', '9'] });
    } finally {
      closeSync(open);
    }
  });

  test('O18: gets each word, its folder and its environment as they are, whatever they are made of', async () => {
    const random = randomFrom(printedSeed('words of commands'));
    const launcher = openLauncher({ kind: 'none', reason: 'Not needed here.' }, MAX_PROCESSES);
    const letters = [...'\'"\\$`!*?[]{}()<>|&;#~ =\t\n\r\u0001\u007fé中😀\ufeffaZ0-'];
    const word = (length: number) => Array.from({ length }, () => letters[random(letters.length)]).join('');
    const cwd = join(bench.root, `it's "$(touch x)"\n${word(20)}`);
    mkdirSync(cwd);
    const words = ['', '-n', "'", ...Array.from({ length: 60 }, () => word(random(40))), word(20_000)];
    const show = 'printf "%s\\0" "$PWD" "$VALUE" "$@"';
    const order = {
      dir: join(bench.home, "it's a\n$folder"),
      argv: ['/bin/bash', '-c', show, 'bash', ...words],
      cwd,
      env: { LC_ALL: 'C.UTF-8', VALUE: word(200) },
      withOwner: false,
    };
    await (await launcher.start(order))?.gone;
    expect(shimState(order.dir)).toEqual({ kind: 'exited', exitCode: 0 });
    const said = readFileSync(join(order.dir, 'out'), 'utf8').split('\0');
    expect(said).toEqual([cwd, order.env.VALUE, ...words, '']);
    await expect(launcher.start({ ...order, argv: ['/bin/echo', 'a\0b'] })).rejects.toThrow('NUL');
    launcher.close();
  });

  test('SAFETY 2.4: has no descriptor but its own, and no variable that was not given', async () => {
    const { output } = await bench.run('for fd in /proc/$$/fd/*; do readlink $fd; done; compgen -e');
    const lines = output.head.trim().split('\n');
    // What this process was started with goes down to all.
    const inherited = openOf(process.pid);
    const theirs = lines.filter((line) => /^(?:pipe|socket|anon_inode):/.test(line) && !inherited.includes(line));
    expect(theirs).toEqual([]);
    const given = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'COLORTERM', 'TERM', 'SHELL'];
    const more = ['CI', 'NO_COLOR', 'PAGER', 'GIT_PAGER', 'GIT_OPTIONAL_LOCKS', 'GIT_TERMINAL_PROMPT'];
    const shell = ['DEBIAN_FRONTEND', 'ODIN_COMMAND', 'PWD', 'OLDPWD', 'SHLVL', '_'];
    const names = lines.filter((line) => /^\w+$/.test(line));
    expect(names.filter((name) => ![...given, ...more, ...shell].includes(name))).toEqual([]);
  });

  test('DURABILITY 7: runs once, whether 12 begin at once, the launcher was killed, or what was prepared', async () => {
    const again = (n: number) => bench.run(`echo ${n} >> ran; exit ${n}`);
    const results = await Promise.all(Array.from({ length: 12 }, (_, n) => again(n)));
    expect(results.map((result) => result.exitCode)).toEqual([...results.keys()]);
    const running = bench.run('echo 12 >> ran; until [ -e go ]; do sleep 0.02; done; exit 12');
    const command = bench.request('echo up; until [ -e go ]; do sleep 0.02; done; exit 5');
    const { id } = must(await bench.port.start(command, bench.hooks()));
    await until(() => readFileSync(join(bench.root, 'ran'), 'utf8').includes('12\n'));
    const [shell = 0] = shells();
    process.kill(shell, 'SIGKILL');
    await until(() => parentOf(shell) === 0);
    expect((await again(13)).exitCode).toBe(13);
    expect(bench.port.list()).toMatchObject([{ id, running: true }]);
    const [other = 0] = shells();
    // Which one is told apart by nobody: neither runs a command.
    await until(() => shimsOf(other).length > 0);
    const prepared = shimsOf(other);
    for (const shim of prepared) process.kill(shim, 'SIGKILL');
    await until(() => prepared.every((shim) => parentOf(shim) === 0));
    expect((await again(14)).exitCode).toBe(14);
    bench.put('go', '');
    expect((await running).exitCode).toBe(12);
    await until(() => bench.port.list()[0]?.running === false);
    expect(bench.port.list()).toMatchObject([{ exitCode: 5 }]);
    const ran = readFileSync(join(bench.root, 'ran'), 'utf8').trim().split('\n').map(Number);
    expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, n) => n));
  });

  test('DURABILITY 7: runs once when its shim is held up before it begins; the next one does not wait for it', async () => {
    const launcher = openLauncher(findProcessLimit(), MAX_PROCESSES, 1_000);
    const order = (name: string) => ({
      dir: join(bench.home, name),
      argv: ['/bin/bash', '-c', `echo ${name} >> held`],
      cwd: bench.root,
      env: {},
      withOwner: false,
    });
    const before = shells();
    await (await launcher.start(order('first')))?.gone;
    const [shell = 0] = shells().filter((pid) => !before.includes(pid));
    await until(() => shimsOf(shell).length === 1 && shimsOf(shell).every(awaitsCommand));
    const [shim = 0] = shimsOf(shell);
    process.kill(shim, 'SIGSTOP');
    const second = await launcher.start(order('second'));
    expect(second?.pid).toBe(shim);
    await (await launcher.start(order('third')))?.gone;
    process.kill(shim, 'SIGCONT');
    await second?.gone;
    const held = readFileSync(join(bench.root, 'held'), 'utf8').trim().split('\n');
    expect(held.toSorted()).toEqual(['first', 'second', 'third']);
    launcher.close();
    await until(() => shells().every((pid) => before.includes(pid)));
  });

  test('O18: leaves no process behind once Odin is closed', async () => {
    const other = openExecBench(UNCONFINED);
    const before = shells();
    await other.run('true');
    const mine = shells().filter((pid) => !before.includes(pid));
    expect(mine).toHaveLength(1);
    await until(() => shimsOf(mine[0] as number).length > 0);
    const prepared = shimsOf(mine[0] as number);
    await other.close();
    await until(() => [...mine, ...prepared].every((pid) => parentOf(pid) === 0));
  });
});
