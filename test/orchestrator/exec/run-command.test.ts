import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findSandbox } from '../../../orchestrator/exec/sandbox.ts';
import { withEnoughTime } from '../../support/enough-time.ts';
import { type ExecBench, openExecBench, processesWith, UNCONFINED } from '../../support/exec-bench.ts';
import { codeOf, must } from '../../support/files-bench.ts';
import { until } from '../../support/until.ts';

const kinds = [
  ['as this machine confines it', findSandbox],
  ['without a sandbox', async () => UNCONFINED],
] as const;

describe.each(kinds)('A command %s', (_kind, find) => {
  let bench: ExecBench;
  beforeAll(async () => {
    bench = openExecBench(await find());
  });
  afterAll(() => bench.close());

  test('O18: gives its output, both streams in order, and its exit code', async () => {
    const result = await bench.run('echo one; echo two >&2; echo three; exit 7');
    expect(result).toMatchObject({ exitCode: 7, stopped: null });
    expect(result.output).toEqual({ head: 'one\ntwo\nthree\n', tail: '', omittedBytes: 0, omittedFrom: 14, bytes: 14 });
    expect(readFileSync(result.outputPath, 'utf8')).toBe('one\ntwo\nthree\n');
  });

  test('O18: streams its output while it runs, cleaned', async () => {
    const go = join(bench.root, 'go');
    const running = bench.run(`printf '\\e[31mready\\e[0m\\n'; until [ -e go ]; do sleep 0.02; done; rm go; echo over`);
    await until(() => bench.chunks.join('').includes('ready'));
    expect(bench.chunks.join('')).not.toContain('\u001b');
    bench.put('go', '');
    expect((await running).output.head).toBe('ready\nover\n');
    expect(existsSync(go)).toBe(false);
  });

  test('O18: control and invisible characters of its output are gone or visible', async () => {
    const { output } = await bench.run(`printf 'a\\e]0;title\\ab\\x00c\\u202ed\\u200be\\r\\n'`);
    expect(output.head).toBe('ab\ufffdc<U+202E>d<U+200B>e\n');
  });

  test('O18: a script of many lines with quotes, heredocs and pipes runs as written', async () => {
    const script = `x='a "b" $c'\ncat <<'EOF' | tr a-z A-Z\n$x \`date\` it's\nEOF\nprintf '%s\\n' "$x" # comment`;
    expect((await bench.run(script)).output.head).toBe('$X `DATE` IT\'S\na "b" $c\n');
    expect(await bench.run('if then')).toMatchObject({ exitCode: 2 });
  });

  test('O18: the next command starts where the last one ended, with its exit code kept', async () => {
    mkdirSync(join(bench.root, 'deep/er'), { recursive: true });
    expect(await bench.run('cd deep && cd er && false')).toMatchObject({ exitCode: 1 });
    expect(bench.port.cwd()).toBe(join(bench.root, 'deep/er'));
    expect((await bench.run('pwd; cd ../..')).output.head).toBe(`${join(bench.root, 'deep/er')}\n`);
    expect(bench.port.cwd()).toBe(bench.root);
  });

  test('O18: the folder is kept after exit, exec and a syntax error, and is a real one', async () => {
    symlinkSync('deep', join(bench.root, 'linked'));
    await bench.run('cd linked; exit 3');
    expect(bench.port.cwd()).toBe(join(bench.root, 'deep'));
    await bench.run('cd er; exec true');
    expect(bench.port.cwd()).toBe(join(bench.root, 'deep'));
    await bench.run('fi');
    expect(bench.port.cwd()).toBe(join(bench.root, 'deep'));
    await bench.run('mkdir -p ../gone; cd ../gone; rmdir ../gone');
    expect(bench.port.cwd()).toBe(join(bench.root, 'deep'));
    await bench.run(`cd ${bench.root}`);
  });

  test('O23: a command that ends outside the project does not take the next one there', async () => {
    const result = await bench.run('cd /usr/lib');
    expect(result).toMatchObject({ cwdAfter: bench.root, leftProject: realpathSync('/usr/lib') });
    expect(bench.port.cwd()).toBe(bench.root);
    await bench.run('mkdir -p tricked; echo /etc >&9; cd tricked; trap - EXIT');
    expect(bench.port.cwd()).toBe(bench.root);
  });

  test('SAFETY 2.4: its environment holds no key, and what keeps programs from asking', async () => {
    const { output } = await bench.run('env');
    const names = output.head.split('\n').map((line) => line.split('=')[0]);
    expect(output.head).not.toContain('sk-not-for-commands');
    expect(names.filter((name) => /KEY|TOKEN|SECRET|REDIS|ANTHROPIC|OPENAI|NODE_OPTIONS/i.test(name ?? ''))).toEqual(
      [],
    );
    for (const line of ['GIT_TERMINAL_PROMPT=0', 'GIT_OPTIONAL_LOCKS=0', 'GIT_PAGER=cat', 'CI=1']) {
      expect(output.head).toContain(line);
    }
    expect((await bench.run('read x; echo "got:$x"; [ -t 0 ] || echo no terminal')).output.head).toBe(
      'got:\nno terminal\n',
    );
  });

  test('E11: a time limit ends it and what it started, and its output until then is there', async () => {
    const word = `odin-limit-${Math.random()}`;
    const command = `echo begun; (exec -a ${word} sleep 100) & setsid bash -c 'exec -a ${word} sleep 100' & wait`;
    await withEnoughTime(600, async (timeoutMs) => {
      const result = await bench.run(command, { timeoutMs });
      expect(result).toMatchObject({ stopped: 'timeout' });
      expect(result.exitCode).toBeGreaterThan(128);
      return result.output.head.includes('begun\n') || undefined;
    });
    expect(processesWith(word)).toEqual([]);
  });

  test('E11: cancel ends the whole tree: a grandchild that ignores SIGTERM and one that left the group', async () => {
    const word = `odin-cancel-${Math.random()}`;
    const cancel = new AbortController();
    const command = `bash -c 'trap "" TERM; (exec -a ${word} sleep 100) & echo a >> up; exec -a ${word} sleep 100' &
      setsid bash -c 'trap "" TERM; (exec -a ${word} sleep 100) & echo b >> up; exec -a ${word} sleep 100' &
      echo c >> up; wait`;
    const running = bench.port.run(bench.request(command), bench.hooks(cancel.signal));
    await until(() => existsSync(join(bench.root, 'up')) && readFileSync(join(bench.root, 'up'), 'utf8').length === 6);
    await until(() => processesWith(word).length >= 4);
    cancel.abort();
    expect(codeOf(await running)).toBe('cancelled');
    expect(processesWith(word)).toEqual([]);
    await bench.run('rm up');
  });

  test('E11: a cancel before the start starts nothing', async () => {
    const outcome = await bench.port.run(bench.request('echo x > never'), bench.hooks(AbortSignal.abort()));
    expect(codeOf(outcome)).toBe('cancelled');
    expect(existsSync(join(bench.root, 'never'))).toBe(false);
  });

  test('O18: it ends when its shell ends; what it left in its group does not outlive it', async () => {
    const word = `odin-left-${Math.random()}`;
    const result = await bench.run(`(exec -a ${word} sleep 100) & echo over`);
    expect(result).toMatchObject({ exitCode: 0, stopped: null });
    await until(() => processesWith(word).length === 0);
  });

  test('O18: a flood of 200 MB costs little memory; its beginning and end are there, and each piece between', async () => {
    const before = process.memoryUsage().rss;
    const result = await bench.run('echo first; yes | head -c 200M; echo last');
    const grown = process.memoryUsage().rss - before;
    expect(result.output.bytes).toBe(200 * 1024 * 1024 + 11);
    expect(result.output.head).toMatch(/^first\ny\ny\n/);
    expect(result.output.tail).toMatch(/y\ny\nlast\n$/);
    expect(result.output.head.length + result.output.tail.length + result.output.omittedBytes).toBe(
      result.output.bytes,
    );
    expect(grown).toBeLessThan(64 * 1024 * 1024);
    const middle = must(await bench.port.read(result.id, 100_000_000));
    expect(middle).toMatchObject({ from: 100_000_000, running: false, exitCode: 0 });
    expect(middle.text).toMatch(/^(y\n|\ny)/);
    await bench.run(`:`);
  });

  test('O18: the shell tells of its folder only, not of the run of another command', async () => {
    expect(codeOf(await bench.port.read('../../etc'))).toBe('unknown_command');
    expect(codeOf(await bench.port.read('9.9.9'))).toBe('unknown_command');
    expect(codeOf(await bench.port.stop('9.9.9'))).toBe('unknown_command');
  });

  test('O18: a folder that is gone is a failure that says so', async () => {
    const outcome = await bench.port.run(bench.request('true', { cwd: join(bench.root, 'no') }), bench.hooks());
    expect(codeOf(outcome)).toBe('no_start');
  });
});
