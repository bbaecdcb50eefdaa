import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createFiles } from '../../orchestrator/files/files.ts';
import { type Tool, type ToolContext, toolSpec } from '../../shared/define-tool.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import { fail } from '../../shared/outcome.ts';
import { commandOutputTool } from '../../tools/command-output.ts';
import { executeCommandTool } from '../../tools/execute-command.ts';
import { type ExecBench, openExecBench, sandboxHere, UNCONFINED } from '../support/exec-bench.ts';
import { codeOf, memoryBlobs, messageOf, must } from '../support/files-bench.ts';
import { NO_WEB } from '../support/no-web.ts';
import { until } from '../support/until.ts';

let bench: ExecBench;
let calls = 0;
beforeEach(() => {
  bench = openExecBench();
});
afterEach(() => bench.close());

const none = () => {
  throw new Error('A command needs no search.');
};

function contextOf(mode: Mode, more: Partial<ToolContext> = {}): ToolContext {
  return {
    root: bench.root,
    mode,
    op: `2.1.${++calls}`,
    files: createFiles({ root: bench.root, blobs: memoryBlobs() }).portFor(),
    search: { grep: none, glob: none, list: none },
    web: NO_WEB,
    exec: bench.port,
    model: { complete: async () => fail('failed', 'none', 'A command needs no model.') },
    editValidation: 'never',
    signal: new AbortController().signal,
    todos: () => [],
    commandRules: () => ({ allowed: [], forbidden: [] }),
    report: () => undefined,
    intend: async (intent) => void bench.intents.push(intent),
    ...more,
  };
}

const parse = (tool: Tool, args: Json) => must(tool.parse(JSON.stringify(args)));
const gate = (command: string, mode: Mode, more: Partial<ToolContext> = {}) =>
  parse(executeCommandTool, { command }).gate(contextOf(mode, more));

/** Gate, and what follows when it is allowed or a user says yes. */
async function call(args: Json, mode: Mode = 'edit', more: Partial<ToolContext> = {}, between = () => {}) {
  const ctx = contextOf(mode, more);
  const parsed = parse(executeCommandTool, args);
  const verdict = await parsed.gate(ctx);
  between();
  return verdict.verdict === 'deny' ? fail('refused', verdict.code, verdict.message) : parsed.run(ctx);
}

test('O18, E10: it takes a command, a limit of at most ten minutes and nothing unknown', () => {
  expect(executeCommandTool.parse('{"command":"ls","timeout_ms":600001}')).toMatchObject({ ok: false });
  expect(executeCommandTool.parse('{"command":"ls","sandbox":false}')).toMatchObject({ ok: false });
  expect(executeCommandTool.parse('{"command":"ls","judged":"x"}')).toMatchObject({ ok: false });
  expect(executeCommandTool.parse('{"command":""}')).toMatchObject({ ok: false });
});

test('O13: both command tools together are short', () => {
  const bytes = Buffer.byteLength(JSON.stringify([executeCommandTool, commandOutputTool].map(toolSpec)));
  expect(bytes).toBeLessThanOrEqual(1_110);
});

test('O18: the intent is journaled before the command begins, and the result says code, folder and output', async () => {
  const seen: boolean[] = [];
  const intend = async () => void seen.push(existsSync(join(bench.root, 'made')));
  const outcome = must(await call({ command: 'mkdir -p made; cd made; echo hello; (exit 3)' }, 'edit', { intend }));
  expect(seen).toEqual([false]);
  expect(outcome.text).toMatch(/^Exit code 3 \(\d+\.\d s\)\. Folder: .*\/project\/made\nhello\n$/);
  expect(outcome).toMatchObject({
    description: 'Exit 3: mkdir -p made; cd made; echo hello; (exit 3)',
    data: { exitCode: 3 },
  });
  expect(must(await call({ command: 'pwd', description: 'Where am I' })).description).toBe('Ran Where am I');
  expect(must(await call({ command: 'true' })).text).toContain('(no output)');
});

test('O18: what it writes is reported live, a line at a time', async () => {
  const lines: string[] = [];
  await call({ command: "printf 'one\\ntwo\\n\\n'" }, 'edit', { report: (line) => lines.push(line) });
  expect(lines).toEqual(['two']);
});

test('O18: a long output keeps head and tail, and the rest can be read by the byte that is named', async () => {
  const { text } = must(await call({ command: 'seq 1 100000' }));
  expect(text.length).toBeLessThan(32_000);
  expect(text).toMatch(/\n1\n2\n/);
  expect(text).toMatch(/\n99999\n100000\n$/);
  const [, args] = /CommandOutput (\{.*?\}) reads on/.exec(text) ?? [];
  const next = must(await parse(commandOutputTool, JSON.parse(args ?? '') as Json).run(contextOf('edit')));
  const last = Number(/(\d+)\n\n\[…/.exec(text)?.[1]);
  expect(next.text).toMatch(/^Exit code 0\. Bytes \d+ to \d+ of 588895\. More from \d+ on\.\n/);
  expect(next.text.split('\n')[1]).toBe(String(last + 1));
});

test('E11: over its time limit it is stopped and is a failure that holds the output so far', async () => {
  const outcome = await call({ command: 'echo begun; sleep 100', timeout_ms: 300 });
  expect(codeOf(outcome)).toBe('timeout');
  expect(messageOf(outcome)).toMatch(/^Stopped after 0\.\d s, its time limit\.[\s\S]*begun/);
});

test('E11: cancelled it is cancelled', async () => {
  const cancel = new AbortController();
  const running = call({ command: 'touch up; sleep 100' }, 'edit', { signal: cancel.signal });
  await until(() => existsSync(join(bench.root, 'up')));
  cancel.abort();
  expect(codeOf(await running)).toBe('cancelled');
});

test('O18: a background command is started, read and stopped by its id', async () => {
  const started = must(await call({ command: 'echo up; sleep 100', background: true }));
  const [, id] = /as (\S+)\. CommandOutput/.exec(started.text) ?? [];
  await until(() => bench.port.list()[0]?.bytes === 3);
  const read = (args: Json) => parse(commandOutputTool, args).run(contextOf('edit'));
  expect(must(await read({ id: id ?? '' })).text).toBe('Running. Bytes 0 to 3 of 3.\nup\n');
  expect(must(await read({ id: id ?? '' })).text).toBe('Running. Bytes 3 to 3 of 3.\n(nothing new)');
  expect(must(await read({ id: id ?? '', stop: true })).text).toMatch(/^Exit code 1\d\d\./);
  expect(must(await read({ id: id ?? '', from: 0 })).text).toMatch(/\nup\n/);
  expect(messageOf(await read({ id: '1.2.3' }))).toContain(`In the background: ${id}`);
});

test('O18, G8: ask and plan mode run what reads and say of the rest what to do instead', async () => {
  bench.put('a.txt', 'text\n');
  for (const mode of ['ask', 'plan'] as const) {
    expect(must(await call({ command: 'cat a.txt | wc -l' }, mode)).text).toMatch(/\n1\n$/);
    const refused = await gate('echo x > b.txt', mode);
    expect(refused).toMatchObject({ verdict: 'deny', code: 'deny-in-read-only' });
    expect(refused.verdict === 'deny' && refused.message).toMatch(
      new RegExp(`${mode} mode runs only.*edit mode should run`),
    );
    expect((await gate('npm install', mode)).verdict).toBe('deny');
  }
  expect(existsSync(join(bench.root, 'b.txt'))).toBe(false);
});

test('O18: what is forbidden is refused in every mode, with the reason', async () => {
  for (const mode of ['ask', 'plan', 'edit'] as const) {
    expect(await gate('sudo rm -rf /', mode)).toMatchObject({ verdict: 'deny', code: 'forbidden' });
    const listed = await gate('ls', mode, { commandRules: () => ({ allowed: [], forbidden: ['ls'] }) });
    expect(listed).toMatchObject({ verdict: 'deny', message: expect.stringContaining('never run') });
  }
});

test('O18: AllowedCommands answer the question before it is put', async () => {
  expect(await gate('npm test', 'edit')).toMatchObject({ verdict: 'ask', rule: 'npm test' });
  const commandRules = () => ({ allowed: ['npm test'], forbidden: [] });
  const there = await sandboxHere();
  expect((await gate('npm test', 'edit', { commandRules })).verdict).toBe(there ? 'allow' : 'ask');
});

test('O23: the question shows command, folder, each place outside and why, and what the sandbox opens', async () => {
  const asked = await gate('cat /etc/hostname > copy; curl https://example.com/x', 'edit');
  expect(asked).toMatchObject({ verdict: 'ask', title: 'Run cat /etc/hostname > copy; curl https://example.com/x?' });
  if (asked.verdict !== 'ask') throw new Error('not asked');
  expect(asked.detail).toContain(`in ${bench.root}\n`);
  expect(asked.detail).toContain('outside: /etc/hostname: it is outside of the project');
  if (await sandboxHere()) expect(asked.detail).toMatch(/opens for it: the network, \/etc\/hostname \(read\)/);
  expect(asked.reasons.join(' ')).toContain('/etc/hostname');
  expect(asked.paths).toContainEqual(expect.objectContaining({ path: '/etc/hostname', outside: true }));
  expect(asked.rule).toBeUndefined();
});

test('O23: an approved command reads what it reads and writes what it writes, and nothing else', async () => {
  if (!(await sandboxHere())) return;
  const outside = join(bench.base, 'letters');
  mkdirSync(outside);
  for (const name of ['letter', 'log']) writeFileSync(join(outside, name), `${name}\n`);
  const sly = `p=${outside}; echo forged >> $p/letter; sed -i s/l/L/ "$p"/letter; rm -f "$p"/letter`;
  const command = `cat ${outside}/letter > copy; cp ${outside}/letter ${outside}/new; cat ${outside}/letter >> ${outside}/log; ${sly}`;
  const asked = await gate(command, 'edit');
  expect(asked.verdict === 'ask' && asked.detail).toMatch(
    /letters\/letter \(read\).*letters\/new \(write\).*letters\/log \(write\)/,
  );
  must(await call({ command }));
  expect(readFileSync(join(bench.root, 'copy'), 'utf8')).toBe('letter\n');
  expect(readFileSync(join(outside, 'letter'), 'utf8')).toBe('letter\n');
  expect(readFileSync(join(outside, 'new'), 'utf8')).toBe('letter\n');
  expect(readFileSync(join(outside, 'log'), 'utf8')).toBe('log\nletter\n');
});

test('SAFETY 2.3: control and invisible characters are visible in the question', async () => {
  const { showHidden } = await import('../../tools/command-text.ts');
  expect(showHidden('ls\u001b[2K \u202eevil\u200b\u00a0x\r\u0000\u{e0041}\u00ad\tok\nnext')).toBe(
    'ls<U+001B>[2K <U+202E>evil<U+200B><U+00A0>x<U+000D><U+0000><U+E0041><U+00AD>\tok\nnext',
  );
  expect(showHidden('plain äöü 漢字 👍')).toBe('plain äöü 漢字 👍');
});

test('SAFETY 2.3: what was allowed holds for these places alone: a link or folder that changed meanwhile is not run', async () => {
  mkdirSync(join(bench.base, 'elsewhere'));
  mkdirSync(join(bench.root, 'sub'));
  symlinkSync('sub', join(bench.root, 'link'));
  const swap = () => {
    unlinkSync(join(bench.root, 'link'));
    symlinkSync(join(bench.base, 'elsewhere'), join(bench.root, 'link'));
  };
  const outcome = await call({ command: 'echo x > link/file' }, 'edit', {}, swap);
  expect(codeOf(outcome)).toBe('changed');
  expect(messageOf(outcome)).toContain('Call it again');
  expect(existsSync(join(bench.base, 'elsewhere/file'))).toBe(false);
  await call({ command: 'cd sub' });
  const moved = await call({ command: 'echo x > here' }, 'edit', {}, () =>
    rmSync(join(bench.root, 'sub'), { recursive: true }),
  );
  expect(codeOf(moved)).toBe('changed');
  const unjudged = await parse(executeCommandTool, { command: 'ls' }).run(contextOf('edit'));
  expect(codeOf(unjudged)).toBe('changed');
  expect(bench.intents).toHaveLength(1);
});

test('E12: commands of one step keep their order', () => {
  const [one, two] = ['a', 'b'].map((command) => parse(executeCommandTool, { command }).touches('/project'));
  expect(one).toEqual(two);
});

test('SAFETY 2.2: without a sandbox edit mode asks for what is not read-only, and says that there is none', async () => {
  const open = openExecBench(UNCONFINED);
  try {
    const ctx = contextOf('edit', { root: open.root, exec: open.port });
    const asked = await parse(executeCommandTool, { command: 'echo x > made' }).gate(ctx);
    expect(asked).toMatchObject({ verdict: 'ask', detail: expect.stringContaining('without a sandbox') });
    const expanded = contextOf('ask', { root: open.root, exec: open.port });
    expect((await parse(executeCommandTool, { command: 'cat *.md' }).gate(expanded)).verdict).toBe('ask');
    expect((await parse(executeCommandTool, { command: 'ls' }).gate(expanded)).verdict).toBe('allow');
  } finally {
    await open.close();
  }
});

test('SAFETY R16: without a sandbox git reads run only where its settings and hooks name no program', async () => {
  const open = openExecBench(UNCONFINED);
  try {
    const verdict = async () => {
      const ctx = contextOf('edit', { root: open.root, exec: open.port });
      return (await parse(executeCommandTool, { command: 'git status' }).gate(ctx)).verdict;
    };
    open.put('.git/config', '[core]\n\tbare = false\n[user]\n\tname = a\n');
    open.put('.git/hooks/pre-commit.sample', '');
    expect(await verdict()).toBe('allow');
    const hook = open.put('.git/hooks/post-index-change', '');
    expect(await verdict()).toBe('ask');
    unlinkSync(hook);
    for (const setting of [
      '[core]\n fsmonitor = x',
      '[filter "a"]\n clean = x',
      '[include]\n path = x',
      '[diff "a"]\n textconv=x',
    ]) {
      open.put('.git/config', setting);
      expect({ setting, verdict: await verdict() }).toEqual({ setting, verdict: 'ask' });
    }
    expect(readFileSync(join(open.root, '.git/config'), 'utf8')).toContain('textconv');
  } finally {
    await open.close();
  }
});
