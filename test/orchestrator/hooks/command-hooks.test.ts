// Hooks of the settings in whole turns: real processes, files, journal and gates; the model is scripted.

import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedCall, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { acceptFolder } from '../../../orchestrator/trust.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { only, type World, withWorld } from '../../support/odin-world.ts';

/** Makes the calls in one step, then answers with what they gave. */
const calls =
  (...toolCalls: readonly ScriptedCall[]) =>
  (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls }
      : { text: turn.lastToolResults.map((result) => result.text).join('\n---\n') };

const write = (file_path: string, content = 'new\n'): ScriptedCall => ({
  name: 'WriteFile',
  args: { file_path, content },
});

interface Done {
  readonly answer: string;
  readonly journal: readonly JournalEvent[];
  readonly hookRan: readonly Extract<JournalEvent, { type: 'hook.ran' }>[];
}

/** Runs one message in edit mode, nobody there to ask. */
async function runMessage(world: World): Promise<Done> {
  const odin = await world.open();
  const sid = odin.newSession();
  const events = await world.ask(odin, sid, { mode: 'edit', body: 'do it' });
  const journal: JournalEvent[] = [];
  for await (const { event } of odin.export(sid) as AsyncIterable<{ event: JournalEvent }>) journal.push(event);
  const hookRan = journal.filter((event) => event.type === 'hook.ran');
  expect(events.filter(({ type }) => type === 'HookRan')).toHaveLength(hookRan.length);
  await odin.close();
  return { answer: only(events, 'AgentDone').answer, journal, hookRan };
}

const withHooks = <T>(
  script: ReturnType<typeof calls>,
  hooks: object,
  use: (world: World) => Promise<T>,
  files: Readonly<Record<string, string>> = {},
) => withWorld({ script, userConfig: { hooks }, files }, use);

const inProject = (world: World, name: string) => join(world.project, name);
const textOf = (world: World, name: string) => readFileSync(inProject(world, name), 'utf8');
/** Does the n-th for a call that names f0, f1, …; the random name of the project's folder may hold the same letters. */
const byFile = (commands: readonly string[]): string =>
  `case "$(cat)" in ${commands.map((command, n) => `*'"f${n}"'*|*' f${n}"'*) ${command} ;;`).join(' ')} esac`;
const says = (answer: object) => `echo '${JSON.stringify(answer)}'`;

test('E5: a toolCall hook denies by exit code 2 or by its answer; the model gets the reason, nothing is done, and the journal says who', async () => {
  const name = 'no-migrations';
  for (const command of [
    `grep -q '"file_path":"db/migrations' && { echo 'Migrations are never edited.' >&2; exit 2; } || exit 0`,
    `grep -q db/migrations && ${says({ decision: 'deny', reason: 'Migrations are never edited.' })} || true`,
  ]) {
    const hooks = { toolCall: [{ name, match: 'Write*|EditTool', command }] };
    await withHooks(calls(write('db/migrations/1.sql'), write('db/seed.sql')), hooks, async (world) => {
      const { answer, hookRan, journal } = await runMessage(world);
      const [denied, allowed] = answer.split('\n---\n');
      expect(denied).toMatch(
        /^The hook "no-migrations" of the user does not allow this call: Migrations are never edited\./,
      );
      expect(allowed).toMatch(/^Created|^Wrote/);
      expect([
        existsSync(inProject(world, 'db/migrations/1.sql')),
        existsSync(inProject(world, 'db/seed.sql')),
      ]).toEqual([false, true]);
      expect(hookRan).toMatchObject([
        { op: '1.1.1', event: 'toolCall', name, outcome: 'denied', message: 'Migrations are never edited.' },
      ]);
      expect(journal.filter((event) => event.type === 'tool.intent')).toMatchObject([{ op: '1.1.2' }]);
    });
  }
});

test('E5: what a hook changed is what is run, what the journal says and what the model is told', async () => {
  const command = says({ args: { file_path: 'notes/b.txt', content: 'changed\n' } });
  await withHooks(calls(write('a.txt')), { toolCall: [{ name: 'mover', command }] }, async (world) => {
    const { answer, hookRan, journal } = await runMessage(world);
    expect(existsSync(inProject(world, 'a.txt'))).toBe(false);
    expect(textOf(world, 'notes/b.txt')).toBe('changed\n');
    const args = { inline: { file_path: 'notes/b.txt', content: 'changed\n' } };
    expect(hookRan).toMatchObject([{ name: 'mover', outcome: 'changed', message: 'changed file_path, content', args }]);
    expect(answer).toContain(
      '[The hook "mover" of the user changed the arguments of this call. They were: {"file_path":"notes/b.txt"',
    );
    const intent = journal.find((event) => event.type === 'tool.intent');
    expect(JSON.stringify(intent)).toContain('notes/b.txt');
  });
});

test('E12 E5: calls of a step keep their order by the paths that hooks have left them with', async () => {
  const toolCall = [{ match: 'WriteFile', command: says({ args: { file_path: 'c.txt', content: 'first\n' } }) }];
  const read: ScriptedCall = { name: 'ReadFile', args: { file_path: 'c.txt' } };
  await withHooks(calls(write('a.txt'), read), { toolCall }, async (world) => {
    expect((await runMessage(world)).answer.split('\n---\n')[1]).toContain('first');
  });
});

test('E5 O23: changed arguments are validated and judged again: a hook never widens what is allowed', async () => {
  const outside = { args: { file_path: '/etc/odin-test', content: 'x' }, decision: 'allow' };
  const run = (command: string): ScriptedCall => ({ name: 'ExecuteCommand', args: { command } });
  const cases = [
    { call: write('f0'), answer: outside, result: /Nobody is here to allow it.*\/etc\/odin-test/s },
    { call: write('f1'), answer: { args: { path: 'a' } }, result: /changed this call into one that cannot be run/ },
    { call: run('ls f2'), answer: { decision: 'allow', args: { command: 'sudo ls' } }, result: /never run/ },
    { call: run('sudo ls f3'), answer: { decision: 'allow' }, result: /never run/ },
  ];
  const toolCall = [{ command: byFile(cases.map(({ answer }) => says(answer))) }];
  await withHooks(calls(...cases.map(({ call }) => call)), { toolCall }, async (world) => {
    const { answer, journal } = await runMessage(world);
    const results = answer.split('\n---\n');
    cases.forEach(({ result }, n) => expect(results[n]).toMatch(result));
    expect(journal.filter((event) => event.type === 'tool.intent')).toEqual([]);
    expect(existsSync('/etc/odin-test')).toBe(false);
  });
});

test('E5: a hook that is slow, broken, missing or not to be understood refuses the call, says so, and leaves nothing running', async () => {
  const slow = 'echo $$ > pids; (setsid tail -f /dev/null & echo $! >> pids; wait)';
  const cases = [
    { command: 'echo oh no >&2; exit 3', message: /^it ended with exit code 3: oh no$/ },
    { command: './no-such-program', message: /^it ended with exit code 127: .*no-such-program/ },
    { command: 'echo looks fine to me', message: /^stdout is for one JSON object or nothing/ },
    { command: says({ decision: 'perhaps' }), message: /^its answer is not one for toolCall/ },
    { command: says({ decison: 'deny' }), message: /^its answer is not one for toolCall.*decison/s },
    { command: `${says({ decision: 'deny' })}; echo '{}'`, message: /^stdout is for one JSON object/ },
    { command: says({ decision: 'deny', args: {} }), message: /^its answer denies the call and changes it$/ },
    { command: 'head -c 2000000 /dev/zero', message: /^it wrote more than 1 MB$/ },
    { command: 'kill -9 $$', message: /^it ended with exit code 137$/ },
  ];
  const toolCall = [
    { name: 'guard', match: 'WriteFile', timeoutMs: 60_000, command: byFile(cases.map(({ command }) => command)) },
    { name: 'guard', match: 'LS', timeoutMs: 2_000, command: slow },
  ];
  const made = [...cases.map((_, n) => write(`f${n}`)), { name: 'LS', args: { path: '.' } }];
  await withHooks(calls(...made), { toolCall }, async (world) => {
    const { answer, hookRan, journal } = await runMessage(world);
    const results = answer.split('\n---\n');
    [...cases, { message: /^it was not through within 2 s$/ }].forEach(({ message }, n) => {
      expect(results[n]).toMatch(/^The hook "guard" of the user, which has a say in this call, did not work: /);
      expect(hookRan.find(({ op }) => op === `1.1.${n + 1}`)?.message).toMatch(message);
      expect(existsSync(inProject(world, `f${n}`))).toBe(false);
    });
    expect(hookRan).toHaveLength(made.length);
    expect(journal.filter((event) => event.type === 'tool.intent')).toEqual([]);
    // On a slow machine it may not even have begun by then.
    const begun = existsSync(inProject(world, 'pids')) ? textOf(world, 'pids').trim().split('\n') : [];
    for (const pid of begun) expect(runs(pid)).toBe(false);
  });
});

test('E5: several hooks are asked at once; one no is enough, and a change of one is put before the others', async () => {
  const meet = (own: string, other: string) => `touch ${own}; until [ -e ${other} ]; do :; done; cat > /dev/null`;
  const both = [
    { name: 'one', command: meet('one', 'two') },
    { name: 'two', command: `${meet('two', 'one')}; echo no >&2; exit 2` },
  ];
  await withHooks(calls(write('a.txt')), { toolCall: both }, async (world) => {
    expect((await runMessage(world)).answer).toMatch(/"two" of the user does not allow this call: no/);
  });
  const sneak = [
    { name: 'guard', command: `grep -q secret.txt && { echo 'not that file' >&2; exit 2; } || exit 0` },
    { name: 'mover', command: says({ args: { file_path: 'secret.txt', content: 'x' } }) },
  ];
  for (const toolCall of [sneak, sneak.toReversed()]) {
    await withHooks(calls(write('a.txt')), { toolCall }, async (world) => {
      expect((await runMessage(world)).answer).toMatch(/"guard" of the user does not allow this call: not that file/);
      expect(existsSync(inProject(world, 'secret.txt'))).toBe(false);
    });
  }
  const atOdds = ['b.txt', 'c.txt'].map((file_path) => ({ command: says({ args: { file_path, content: 'x' } }) }));
  await withHooks(calls(write('a.txt')), { toolCall: atOdds }, async (world) => {
    expect((await runMessage(world)).answer).toMatch(/change the arguments of this call against each other/);
  });
});

test('E5 O24: a hook can have the user asked, and no earlier word for the session answers in its place', async () => {
  const hooks = {
    toolCall: [{ name: 'careful', match: 'WriteFile', command: says({ decision: 'ask', reason: 'it is Friday' }) }],
  };
  const script = calls(write('a.txt'), write('b.txt'));
  await withHooks(script, hooks, async (world) => {
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const sid = odin.newSession();
    const asked: string[] = [];
    const stop = new AbortController();
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    await odin.submit(sid, { mode: 'edit', body: 'do' });
    for await (const event of stream) {
      if (event.type === 'PermissionAsked') {
        asked.push(...event.reasons);
        await odin.answer(event.questionId, asked.length === 1 ? 'allow_session' : 'deny', { by: 'test' });
      }
      if (event.type === 'AgentDone') stop.abort();
    }
    expect(asked).toEqual(Array.from({ length: 2 }, () => 'the hook "careful" asks: it is Friday'));
    expect([existsSync(inProject(world, 'a.txt')), existsSync(inProject(world, 'b.txt'))].toSorted()).toEqual([
      false,
      true,
    ]);
  });
  await withHooks(script, hooks, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await world.ask(odin, odin.newSession(), { mode: 'edit', body: 'do' });
    expect(only(events, 'AgentDone').answer).toMatch(/Nobody is here to allow it/);
  });
});

test("SAFETY T2: a project's hooks run only once this very file is trusted; the user's own always", async () => {
  const config = (mark: string) =>
    JSON.stringify({ hooks: { toolCall: [{ command: `touch ${mark}` }], done: [{ command: `touch ${mark}-done` }] } });
  const files = { 'odinconfig.json': config('project') };
  await withHooks(
    calls({ name: 'LS', args: { path: '.' } }),
    { toolCall: [{ command: 'touch user' }] },
    async (world) => {
      const seen = () =>
        ['user', 'project', 'project-done', 'changed'].filter((name) => existsSync(inProject(world, name)));
      await runMessage(world);
      expect(seen()).toEqual(['user']);
      await acceptFolder(world.home, realpathSync(world.project), files['odinconfig.json'], 1);
      await runMessage(world);
      expect(seen()).toEqual(['user', 'project', 'project-done']);
      writeFileSync(inProject(world, 'odinconfig.json'), config('changed'));
      await runMessage(world);
      expect(seen()).toEqual(['user', 'project', 'project-done']);
    },
    files,
  );
});

test('SAFETY 6: a hook sees what it is about and where, and neither keys nor secrets', async () => {
  const secret = ['ghp', '_', 'A1b2'.repeat(9)].join('');
  process.env['HOOK_TEST_API_KEY'] = 'a-key-of-no-use-12345';
  try {
    const command = `cat > "$ODIN_PROJECT_ROOT/seen.json"; env > env.txt`;
    await withHooks(
      calls(write('a.txt', `token ${secret} a-key-of-no-use-12345\n`)),
      { toolCall: [{ command }] },
      async (world) => {
        await runMessage(world);
        const seen = textOf(world, 'seen.json');
        expect(JSON.parse(seen)).toMatchObject({
          ...{ event: 'toolCall', seq: 1, step: 1, mode: 'edit', op: '1.1.1', tool: 'WriteFile', effect: 'write' },
          ...{
            root: realpathSync(world.project),
            args: { file_path: 'a.txt', content: 'token [redacted:github-token] [redacted:env]\n' },
          },
        });
        const env = textOf(world, 'env.txt');
        expect(env).toMatch(/^ODIN_HOOK_EVENT=toolCall$/m);
        expect(`${seen}${env}`).not.toMatch(/a-key-of-no-use|ghp_|API_KEY/);
        // What the hook was not shown is written as the model wanted it.
        expect(textOf(world, 'a.txt')).toContain(secret);
      },
    );
  } finally {
    delete process.env['HOOK_TEST_API_KEY'];
  }
});

test('E5 O9 E14: a toolResult hook formats behind an edit: the note reaches the model, and diff and undo go by the file as it is then', async () => {
  const format = `file=$(grep -o '"affectedFiles":\\["[^"]*' | cut -d'"' -f4); tr a-z A-Z < "$file" > tmp$$ && cat tmp$$ > "$file" && rm tmp$$; echo formatted; echo "$file" | grep -q bad && { echo 'not to my taste' >&2; exit 2; } || true`;
  const hooks = { toolResult: [{ name: 'format', match: 'WriteFile', command: format }] };
  const script = calls(write('a.txt', 'hello\n'), write('bad.txt', 'x\n'), { name: 'LS', args: { path: '.' } });
  await withHooks(script, hooks, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const done = only(await world.ask(odin, sid, { mode: 'edit', body: 'do' }), 'AgentDone');
    const [a, bad, ls] = done.answer.split('\n---\n');
    expect(textOf(world, 'a.txt')).toBe('HELLO\n');
    expect(a).toMatch(/\[A hook of the user, such as a formatter, changed the file after this\./);
    expect(bad).toMatch(/\[The hook "format" of the user says: not to my taste\]$/);
    expect(ls).not.toContain('hook');
    expect((await odin.diff(sid)).map(({ diff }) => diff).join()).toContain('+HELLO');
    const undone = await world.ask(odin, sid, { mode: 'edit', body: 'undo', command: { type: 'undo', count: 1 } });
    expect(only(undone, 'AgentDone').status).toBe('completed');
    expect([existsSync(inProject(world, 'a.txt')), existsSync(inProject(world, 'bad.txt'))]).toEqual([false, false]);
  });
});

test('E5: a hook after an action that fails is reported and harms nothing', async () => {
  const hooks = {
    toolResult: [{ name: 'after', command: 'echo oh >&2; exit 7' }],
    done: [{ name: 'end', command: 'exit 9' }],
  };
  await withHooks(calls(write('a.txt')), hooks, async (world) => {
    const { answer, hookRan, journal } = await runMessage(world);
    expect(answer).toMatch(/^Created|^Wrote/);
    expect(answer).not.toContain('hook');
    expect(hookRan.map(({ event, name, outcome, message }) => [event, name, outcome, message])).toEqual([
      ['toolResult', 'after', 'failed', 'it ended with exit code 7: oh'],
      ['done', 'end', 'failed', 'it ended with exit code 9'],
    ]);
    expect(journal.at(-1)).toMatchObject({ type: 'msg.done', status: 'completed' });
  });
});

test('E5: beforeLLM can say something to the model or refuse to have it asked; watchers see the rest of a message', async () => {
  const log = (event: string) => ({ [event]: [{ command: `cat >> seen; :` }] });
  const hooks = {
    ...log('stepStart'),
    ...log('afterLLM'),
    ...log('done'),
    beforeLLM: [{ name: 'hint', command: says({ note: 'Mind the gap.' }) }],
  };
  await withHooks(calls({ name: 'LS', args: { path: '.' } }), hooks, async (world) => {
    const { hookRan } = await runMessage(world);
    expect(hookRan).toMatchObject([{ outcome: 'noted' }, { outcome: 'noted' }]);
    const bodies = world.server.requests.map(({ body }) => body);
    expect(bodies[0]).toContain('The hook \\"hint\\" of the user says: Mind the gap.');
    expect(bodies[1]?.split('Mind the gap.')).toHaveLength(3);
    const seen = textOf(world, 'seen')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; step?: number });
    expect(seen.map(({ event }) => event).toSorted()).toEqual([
      'afterLLM',
      'afterLLM',
      'done',
      'stepStart',
      'stepStart',
    ]);
  });
  const refusing = { beforeLLM: [{ name: 'quota', command: 'echo The week is over. >&2; exit 2' }] };
  await withHooks(calls(), refusing, async (world) => {
    const { journal } = await runMessage(world);
    expect(world.server.requests).toHaveLength(0);
    const failure = {
      code: 'hook_denied',
      message: 'The hook "quota" does not allow asking the model: The week is over.',
    };
    expect(journal.at(-1)).toMatchObject({ type: 'msg.done', status: 'planner_failure', failure });
  });
});

test('E11 E5: a cancel does not wait for a hook, and ends what it started', async () => {
  await withHooks(
    calls(write('a.txt')),
    { toolCall: [{ command: 'echo $$ > pid; tail -f /dev/null', timeoutMs: 60_000 }] },
    async (world) => {
      const odin = await world.open();
      const sid = odin.newSession();
      const stop = new AbortController();
      const stream = odin.follow(sid, { from: '$', signal: stop.signal });
      await odin.submit(sid, { mode: 'edit', body: 'do' });
      for await (const event of stream) {
        if (event.type === 'ToolCallStart') {
          while (!existsSync(inProject(world, 'pid')) || textOf(world, 'pid') === '') await new Promise(setImmediate);
          await odin.cancel(sid, 'test');
        }
        if (event.type === 'AgentDone') {
          expect(event.status).toBe('cancelled');
          stop.abort();
        }
      }
      while (runs(textOf(world, 'pid').trim())) await new Promise(setImmediate);
    },
  );
});

test('O9: hooks stand around a tool that is run without a model, too', async () => {
  const hooks = {
    toolCall: [{ name: 'guard', match: 'LS', command: 'echo closed >&2; exit 2' }],
    toolResult: [{ match: 'Glob', command: says({ note: 'seen' }) }],
  };
  await withHooks(calls(), hooks, async (world) => {
    const odin = await world.open({ models: false });
    const { signal } = new AbortController();
    expect(await odin.runTool('LS', { path: '.' }, 'ask', signal)).toMatchObject({
      ok: false,
      failure: { code: 'hook_denied' },
    });
    const glob = await odin.runTool('Glob', { pattern: '*.md' }, 'ask', signal);
    expect(glob.ok && glob.value.text).toMatch(/ODIN\.md[\s\S]*says: seen\]$/);
  });
});

/** Whether a process runs; one that is dead and not yet waited for does not. */
function runs(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? 'X');
  } catch {
    return false;
  }
}
