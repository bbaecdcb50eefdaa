// Sandboxes that are made ahead of their command: like a new one, and never used once anything has changed.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CommandRequest, CommandResult } from '../../../shared/exec-port.ts';
import { withEnoughTime } from '../../support/enough-time.ts';
import { type ExecBench, openExecBench, processesWith, sandboxHere } from '../../support/exec-bench.ts';
import { until } from '../../support/until.ts';

const here = await sandboxHere();

(here ? describe : describe.skip)('A sandbox that waits for its command', () => {
  let bench: ExecBench;
  beforeAll(() => {
    bench = openExecBench(here ?? undefined);
    bench.put('.git/config', '[core]\n');
    bench.put('.git/HEAD', 'ref: refs/heads/main\n');
    bench.put('.git/hooks/x.sample', '');
    mkdirSync(join(bench.root, "it's"));
  });
  afterAll(() => bench.close());

  const commands = ({ home } = bench) => join(home, 'commands');
  const folders = (of = bench) => readdirSync(commands(of)).filter((name) => /^warm-[^.]+$/.test(name));
  /** Its folder becomes the command's, so a sign is put there. */
  const waits = async (of = bench): Promise<void> => {
    await until(() => folders(of).length === 1 && existsSync(join(commands(of), `${folders(of)[0]}.odin`)));
    writeFileSync(join(commands(of), folders(of)[0] as string, 'sign'), '');
  };
  /** Whatever waits now, afterwards it is one for commands that write. */
  const another = async (): Promise<void> => {
    await bench.run('true');
    await until(() => folders().length === 1);
    await bench.run('true');
    await waits();
  };
  const wasUsed = ({ outputPath }: CommandResult) => existsSync(join(dirname(outputPath), 'sign'));
  const own = () => readdirSync(bench.root).filter((name) => name === '.odin');

  test('SAFETY 2.4: is used by the next command, which gets all that it would in a new one, and no more', async () => {
    // What it tells of its own shell it reads with built-ins: around each fork a shell blocks SIGCHLD and holds pipes.
    const command = `${'#'.repeat(3_000)} \u00e9 'it"s'
      cd "it's"; env | sort | grep -v ODIN_COMMAND; echo "\${ODIN_COMMAND:+marked} $PWD $OLDPWD $$ $0 $# $-"
      while read -r key value; do case $key in Sig[IBC]*|Cap*|NoNewPrivs*|Seccomp*) echo "$key $value";; esac; done < /proc/$$/status
      cut -d' ' -f 4- /proc/self/mountinfo | sort; for fd in /proc/$$/fd/*; do readlink $fd; done; ulimit -a; ls -A; exit 7`;
    const cold = await bench.run(command);
    await waits();
    expect(own()).toEqual([]);
    const warm = await bench.run(command, { cwd: bench.root });
    expect([cold, warm].map(wasUsed)).toEqual([false, true]);
    const told = ({ output: { head, tail }, exitCode, cwdAfter }: CommandResult) => ({
      output: (head + tail).replace(/\/1\.1\..*\//g, '/'),
      exitCode,
      cwdAfter,
    });
    expect(told(cold).output).toMatch(/^marked .*\/it's /m);
    expect(told(cold).output).toMatch(/^SigBlk: 0{16}$/m);
    expect(told(warm)).toEqual(told(cold));
    expect(warm).toMatchObject({ exitCode: 7, cwdAfter: join(bench.root, "it's") });
    await bench.run('true', { cwd: bench.root });
  });

  test('SAFETY 2.4: its command’s language is its command’s alone, also one that is not there', async () => {
    const before = process.env['LC_ALL'];
    process.env['LC_ALL'] = 'xx_XX.UTF-8';
    const odd = openExecBench(here ?? undefined);
    if (before === undefined) delete process.env['LC_ALL'];
    else process.env['LC_ALL'] = before;
    try {
      const cold = await odd.run("echo '\u00e9' $LC_ALL");
      await waits(odd);
      const warm = await odd.run("echo '\u00e9' $LC_ALL");
      expect([cold, warm].map(wasUsed)).toEqual([false, true]);
      expect(warm.output).toEqual(cold.output);
      expect(warm.output.head).toMatch(/^\u00e9 xx_XX\.UTF-8$/m);
    } finally {
      await odd.close();
    }
  });

  test('O18: ends with its time limit like any other, and a signal that was its own is told as its own', async () => {
    const stopped = await withEnoughTime(300, async (timeoutMs) => {
      await another();
      const outcome = await bench.port.run(bench.request('echo begun; sleep 100', { timeoutMs }), bench.hooks());
      return outcome.ok && outcome.value.output.head !== '' ? outcome.value : undefined;
    });
    expect({ stopped: stopped.stopped, used: wasUsed(stopped) }).toEqual({ stopped: 'timeout', used: true });
    for (const [command, exitCode] of [
      ['kill -9 $$', 137],
      ['exit 130', 130],
    ] as const) {
      await waits();
      const result = await bench.run(command);
      expect(result).toMatchObject({ stopped: null, exitCode });
      expect(wasUsed(result)).toBe(true);
    }
  });

  const changes: readonly (readonly [string, () => void, Partial<CommandRequest>?])[] = [
    ['a protected file was replaced', () => renameSync(bench.put('c', '[core]\n'), join(bench.root, '.git/config'))],
    [
      'one was removed and made again',
      () => {
        rmSync(join(bench.root, '.git/config'));
        bench.put('.git/config', '[core]\n');
      },
    ],
    [
      'a protected folder was moved away and another put there',
      () => {
        renameSync(join(bench.root, '.git/hooks'), join(bench.root, '.git/h'));
        mkdirSync(join(bench.root, '.git/hooks'));
      },
    ],
    [
      'the folder around them was',
      () => {
        renameSync(join(bench.root, '.git'), join(bench.root, 'g'));
        for (const name of ['HEAD', 'config', 'hooks/y.sample']) bench.put(`.git/${name}`, '[core]\n');
      },
    ],
    ['there is one more', () => bench.put('odinconfig.json', '[core]\n')],
    ['more is allowed', () => {}, { extraPaths: [{ path: '/etc', access: 'read' }] }],
    ['less is allowed', () => {}, { profile: 'read-only' }],
  ];

  test('SAFETY 2.4: is not used once what it protects is not what was mounted, or something else is asked for', async () => {
    const attack = `for f in .git/config .git/hooks/post-commit odinconfig.json .odin/x; do echo evil > $f; rm -rf $f; done
      rm -rf .git/hooks .git/config; mv .git/hooks h; mv .git/config c; mv .git g2; mkdir .odin; echo end`;
    for (const [what, change, more] of changes) {
      await another();
      // Else no more would be made after some.
      expect(wasUsed(await bench.run('true'))).toBe(true);
      await waits();
      change();
      const result = await bench.run(attack, { cwd: bench.root, ...more });
      expect(result.output.head).toMatch(/end\n$/);
      const config = readFileSync(join(bench.root, '.git/config'), 'utf8');
      const hooks = existsSync(join(bench.root, '.git/hooks/post-commit'));
      expect({ what, used: wasUsed(result), config, hooks, own: own() }).toEqual({
        ...{ what, used: false, config: '[core]\n', hooks: false, own: [] },
      });
      // It was the user's, not the command's.
      expect(existsSync(join(bench.root, 'odinconfig.json'))).toBe(what === 'there is one more');
      for (const name of ['odinconfig.json', 'g']) rmSync(join(bench.root, name), { recursive: true, force: true });
    }
  });

  test('SAFETY 2.4: what the user makes where something stood in is the user’s, also while one waits', async () => {
    await another();
    bench.put('.odin/agents/mine.md', 'mine\n');
    const result = await bench.run('ls .odin/agents; echo x > .odin/agents/mine.md; rm -rf .odin');
    expect(wasUsed(result)).toBe(false);
    expect(result.output.head).toMatch(/^mine\.md\n/);
    expect(readFileSync(join(bench.root, '.odin/agents/mine.md'), 'utf8')).toBe('mine\n');
    rmSync(join(bench.root, '.odin'), { recursive: true });
  });

  test('DURABILITY 7: was killed, and its command runs once all the same; it ends with Odin, and leaves nothing', async () => {
    await another();
    const [pid = 0] = processesWith(bench.root);
    process.kill(pid, 'SIGKILL');
    await until(() => processesWith(bench.root).length === 0);
    const result = await bench.run('echo once >> ran; exit 3');
    expect({ code: result.exitCode, used: wasUsed(result) }).toEqual({ code: 3, used: false });
    expect(readFileSync(join(bench.root, 'ran'), 'utf8')).toBe('once\n');
    await waits();
    expect(processesWith(bench.root).length).toBeGreaterThan(0);
    await bench.commands.close();
    await until(() => processesWith(bench.root).length === 0);
    expect(readdirSync(commands()).filter((name) => name.startsWith('warm-'))).toEqual([]);
  });
});
