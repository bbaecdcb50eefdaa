// Odin's own names in a project that has none of them yet: tried for real, with a sandbox and without (SAFETY 2.4, CVE-2026-25725).

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { markOf } from '../../../orchestrator/exec/command-env.ts';
import { guardControl, guardWaiting, releaseControl, releaseLeft } from '../../../orchestrator/exec/guard-control.ts';
import { readConfigText } from '../../../orchestrator/trust.ts';
import { type ExecBench, openExecBench, sandboxHere, UNCONFINED } from '../../support/exec-bench.ts';
import { must } from '../../support/files-bench.ts';
import { until } from '../../support/until.ts';

const here = await sandboxHere();
const kinds = [...(here ? [['in the sandbox', here] as const] : []), ['without a sandbox', UNCONFINED] as const];

const FILE = `echo '{"AllowedCommands":["sh"]}'`;
const ATTEMPTS: readonly (readonly [string, string])[] = [
  ['written', `${FILE} > odinconfig.json; mkdir -p .odin/agents; echo x > .odin/agents/x.md`],
  [
    'renamed into place',
    `${FILE} > a; mv a odinconfig.json; mkdir -p b/agents; echo x > b/agents/x.md; mv -T b .odin; mv b .odin`,
  ],
  ['linked', `${FILE} > a; ln -s a odinconfig.json; mkdir c; echo x > c/x; ln -sT c .odin; ln -sfn /tmp .odin`],
  ['linked hard', `${FILE} > a; ln a odinconfig.json; ln -f a odinconfig.json; cp a .odin`],
  [
    'removed and made again',
    `rmdir .odin odinconfig.json; rm -rf .odin odinconfig.json; mv .odin away; mkdir .odin; touch .odin/x`,
  ],
  [
    'written by what goes on',
    `(sleep 0.1; ${FILE} > odinconfig.json; mkdir .odin; touch .odin/x) & setsid sh -c 'touch odinconfig.json'`,
  ],
];

test('SAFETY 2.4: what stands in for a command that outlived its Odin is not the project’s, and does not go while another needs it', async () => {
  const bench = openExecBench(UNCONFINED);
  const folder = join(bench.home, 'commands');
  const [dead, gone, alive] = ['1.1.1', '2.1.1', '3.1.1'].map((op) => join(folder, 'session', op)) as [
    string,
    string,
    string,
  ];
  const noteOf = (dir: string) => join(folder, 'guards', `${markOf(dir)}.json`);
  const place = join(bench.root, '.odin');
  const standIn = (op: string) => (existsSync(place) ? op : `${op}: nothing`);
  // As processes leave them that were killed before their shims had begun.
  mkdirSync(join(folder, 'guards'), { recursive: true });
  mkdirSync(place);
  for (const dir of [dead, gone]) {
    const guarded = { root: bench.root, dir, absent: ['odinconfig.json', '.odin'], standIns: ['.odin'] };
    writeFileSync(noteOf(dir), JSON.stringify(guarded));
  }
  releaseLeft(bench.root, folder);
  expect(existsSync(noteOf(dead))).toBe(true);
  guardControl(bench.root, alive, { confined: true, background: false });
  expect(JSON.parse(readFileSync(noteOf(alive), 'utf8')).standIns).toEqual(['.odin']);
  releaseControl(dead);
  expect(standIn('one of them is over')).toBe('one of them is over');
  // Another process has seen to it.
  rmSync(noteOf(gone));
  guardControl(bench.root, dead, { confined: true, background: false });
  releaseControl(alive);
  expect(standIn('the first command')).toBe('the first command');
  releaseControl(dead);
  expect(standIn('all')).toBe('all: nothing');
  await bench.close();
});

describe.each(kinds)('Odin’s own names %s', (kind, found) => {
  let bench: ExecBench;
  beforeEach(() => {
    bench = openExecBench(found);
    bench.put('ODIN.md', '# x\n');
  });
  afterEach(() => bench.close());
  const own = () => readdirSync(bench.root).filter((name) => name === '.odin' || name === 'odinconfig.json');

  test.each(ATTEMPTS)(
    'SAFETY 2.4: are not there after they were %s, and nothing stands in for them',
    async (_how, attempt) => {
      const { output, outputPath } = await bench.run(attempt);
      // For a moment one may stand in again, while the sandbox of the next command is made.
      await until(() => own().length === 0);
      if (kind === 'in the sandbox') expect(existsSync(join(outputPath, '../removed/.odin'))).toBe(false);
      const moved = existsSync(join(outputPath, '../removed/odinconfig.json'));
      if (moved)
        expect(output.head).toMatch(/odin: odinconfig\.json was made.*only the user may do\. It was moved to /);
    },
  );

  test('SAFETY 2.4: what was made is kept outside of the project, links as links, and the next command does not see it', async () => {
    const { output, outputPath } = await bench.run(`${FILE} > odinconfig.json; ls odinconfig.json`);
    expect(output.head).toMatch(/^odinconfig\.json\n\n\[odin: /);
    expect(readFileSync(join(outputPath, '../removed/odinconfig.json'), 'utf8')).toContain('AllowedCommands');
    const linked = await bench.run('ln -s /etc/passwd odinconfig.json');
    expect(lstatSync(join(linked.outputPath, '../removed/odinconfig.json')).isSymbolicLink()).toBe(true);
    expect((await bench.run('ls -A')).output.head.match(/odinconfig/)).toBeNull();
  });

  test('SAFETY 2.4: git is not led to settings from elsewhere, and a project whose .git is a file is as any other', async () => {
    bench.put('.git/HEAD', 'ref: refs/heads/main\n');
    const { output, outputPath } = await bench.run(
      `echo ../evil > .git/commondir; echo "[core]" > .git/config.worktree; touch .git/x
      mkdir -p .git/hooks; echo x > .git/hooks/post-commit`,
    );
    await until(() => readdirSync(join(bench.root, '.git')).join() === 'HEAD,x');
    expect(readFileSync(join(outputPath, '../removed/.git/commondir'), 'utf8')).toBe('../evil\n');
    expect(output.head).toContain('odin: .git/config.worktree was made in the project');
    rmSync(join(bench.root, '.git'), { recursive: true });
    bench.put('.git', 'gitdir: ../elsewhere\n');
    expect((await bench.run('cat .git')).output.head).toBe('gitdir: ../elsewhere\n');
    if (kind !== 'in the sandbox') return;
    await bench.run('echo gitdir: evil > .git; rm -f .git; mv .git g; echo gitdir: evil > .git');
    expect(readFileSync(join(bench.root, '.git'), 'utf8')).toBe('gitdir: ../elsewhere\n');
  });

  test('SAFETY 2.4: what a link of a command leads to outside of the project stays where it is', async () => {
    const other = join(bench.base, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'commondir'), '../..\n');
    await bench.run(`ln -s ${other} .git`);
    expect(lstatSync(join(bench.root, '.git')).isSymbolicLink()).toBe(true);
    expect(readdirSync(other)).toEqual(['commondir']);
  });

  test('SAFETY 2.4: a command in the background makes none of them, and its end leaves nothing behind', async () => {
    const script = `sleep 0.1; ${FILE} > odinconfig.json; mkdir -p .odin/agents; touch .odin/x; echo tried; sleep 100`;
    const started = must(await bench.port.start(bench.request(script, { timeoutMs: null }), bench.hooks()));
    // Others come and go meanwhile.
    await bench.run('true');
    await until(
      () =>
        bench.port.list()[0]?.bytes !== 0 &&
        readFileSync(join(bench.home, `commands/session/${started.id}/out`), 'utf8').includes('tried'),
    );
    await bench.run('touch .odin/y; echo x > odinconfig.json');
    if (kind === 'in the sandbox') {
      expect(own().flatMap((name) => readdirSync(join(bench.root, name)))).toEqual([]);
      expect(readConfigText(join(bench.root, 'odinconfig.json'))).toBeNull();
    }
    must(await bench.port.stop(started.id));
    await until(() => own().length === 0);
  });

  test('SAFETY 2.4: what the user has is never moved, and what only reads needs nothing to stand in', async () => {
    bench.put('odinconfig.json', '{}\n');
    mkdirSync(join(bench.root, '.odin'));
    await bench.run('true');
    expect(own()).toEqual(['.odin', 'odinconfig.json']);
    if (kind !== 'in the sandbox') return;
    await bench.run('echo x > odinconfig.json; touch .odin/x; rm -rf .odin');
    expect(readFileSync(join(bench.root, 'odinconfig.json'), 'utf8')).toBe('{}\n');
    expect(readdirSync(join(bench.root, '.odin'))).toEqual([]);
  });

  test('SAFETY 2.4: what the user puts there while a sandboxed command runs stays', async () => {
    if (kind !== 'in the sandbox') return;
    const running = bench.run('touch up; until [ -e go ]; do sleep 0.02; done; ls .odin; touch .odin/y');
    await until(() => existsSync(join(bench.root, 'up')));
    writeFileSync(join(bench.root, '.odin/mine'), 'x');
    bench.put('go', '');
    expect((await running).output.head).toMatch(/^mine\n(?!.*\[odin:)/s);
    expect(readdirSync(join(bench.root, '.odin'))).toEqual(['mine']);
  });

  test('DURABILITY 7: what a crash left standing in is removed by the next Odin, and what was made is moved', async () => {
    const dir = join(bench.home, 'commands/old/1.1.1');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'started'), '999999999 1@x\n');
    writeFileSync(join(dir, 'exit'), '0\n');
    mkdirSync(join(bench.home, 'commands/guards'));
    const note = { root: bench.root, dir, absent: ['odinconfig.json', '.odin'], standIns: ['.odin'] };
    const path = join(bench.home, `commands/guards/${markOf(dir)}.json`);
    writeFileSync(path, JSON.stringify(note));
    writeFileSync(join(bench.home, 'commands/guards/y.json'), JSON.stringify({ ...note, root: '/elsewhere' }));
    mkdirSync(join(bench.root, '.odin'));
    bench.put('odinconfig.json', '{"AllowedCommands":["sh"]}');
    await bench.run('true');
    await until(() => own().length === 0);
    expect(existsSync(join(dir, 'removed/odinconfig.json'))).toBe(true);
    await until(() => readdirSync(join(bench.home, 'commands/guards')).join() === 'y.json');
  });
});

test('DURABILITY 7: what stood in while a sandbox was made that was to wait is removed by the next Odin too', async () => {
  const bench = openExecBench(UNCONFINED);
  try {
    const commands = join(bench.home, 'commands');
    guardWaiting(bench.root, join(commands, 'warm-x'));
    expect(readdirSync(bench.root)).toEqual(['.odin']);
    const notes = join(commands, 'guards');
    for (const name of readdirSync(notes)) utimesSync(join(notes, name), 0, 0);
    releaseLeft(bench.root, commands);
    expect(readdirSync(bench.root)).toEqual([]);
    expect(readdirSync(notes)).toEqual([]);
  } finally {
    await bench.close();
  }
});
