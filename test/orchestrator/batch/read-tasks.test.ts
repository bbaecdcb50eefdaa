import { describe, expect, test } from '@jest/globals';
import { readTasks } from '../../../orchestrator/batch/read-tasks.ts';

const mistakesOf = (text: string, name = 'tasks.jsonl'): Promise<string> =>
  readTasks(text, name).then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('SPEC O19: a file of tasks is checked before anything runs', () => {
  test('each line is a task; one without an id is named by its line', async () => {
    const tasks = await readTasks(
      '{"prompt":"one"}\n\n{"prompt":"two","id":"b","mode":"edit","depends_on":"line-1","budget":{"usd":0.5}}\r\n',
      'tasks.jsonl',
    );
    expect(tasks).toEqual([
      { id: 'line-1', line: 1, prompt: 'one', needs: [] },
      { id: 'b', line: 3, prompt: 'two', mode: 'edit', budget: { usd: 0.5 }, needs: ['line-1'] },
    ]);
  });

  test('YAML says the same, as a list or under "tasks", and knows its lines', async () => {
    const list = '# a comment\n- prompt: one\n- id: b\n  prompt: |\n    two\n    lines\n  depends_on: [line-2]\n';
    const tasks = await readTasks(list, 'tasks.yaml');
    expect(tasks.map(({ id, line, prompt, needs }) => ({ id, line, prompt, needs }))).toEqual([
      { id: 'line-2', line: 2, prompt: 'one', needs: [] },
      { id: 'b', line: 3, prompt: 'two\nlines', needs: ['line-2'] },
    ]);
    expect(await readTasks('tasks:\n  - prompt: one\n', 'stdin')).toHaveLength(1);
    expect(await mistakesOf('- prompt: a\n- promt: b\n', 't.yml')).toContain('t.yml:2: unknown key "promt"');
    expect(await mistakesOf('- prompt: [\n', 't.yml')).toMatch(/^t\.yml:\d+: not valid YAML/);
    expect(await mistakesOf('prompt: a\n', 't.yml')).toContain('must be a list');
    expect(await readTasks('- prompt: &same one\n- prompt: *same\n', 't.yml')).toMatchObject([{}, { prompt: 'one' }]);
    expect(await mistakesOf('- prompt: a\n- prompt: *gone\n', 't.yml')).toContain('t.yml:2: an alias (*name)');
  });

  test('every mistake is told with its line, all of them at once', async () => {
    const lines = [
      '{"promt":"x"}',
      '{"prompt":"x","mode":"write"}',
      '{"prompt": x}',
      '[1]',
      '{"prompt":"x","budget":{"usd":-1,"euro":2}}',
      '{"prompt":"x","model":"gpt"}',
      '{"prompt":"  "}',
      '{"prompt":"x","timeout":"soon","maxSteps":0,"priority":-1}',
    ];
    const told = await mistakesOf(lines.join('\n'));
    expect(told).toContain('tasks.jsonl:1: unknown key "promt". Did you mean "prompt"?');
    expect(told).toContain('tasks.jsonl:1: a task needs a "prompt".');
    expect(told).toMatch(/tasks\.jsonl:2: "mode": .*ask/);
    expect(told).toContain('tasks.jsonl:3: not valid JSON');
    expect(told).toContain('tasks.jsonl:4: a task must be an object');
    expect(told).toContain('tasks.jsonl:5: unknown key "euro" in "budget"');
    expect(told).toContain('tasks.jsonl:6: "model": must be a model as provider/name');
    expect(told).toContain('tasks.jsonl:7: "prompt"');
    for (const key of ['timeout', 'maxSteps', 'priority']) expect(told).toContain(`tasks.jsonl:8: "${key}"`);
  });

  test('ids that are there twice, unknown dependencies and circles are mistakes', async () => {
    expect(await mistakesOf('{"id":"a","prompt":"x"}\n{"id":"a","prompt":"y"}')).toContain(
      'tasks.jsonl:2: the id "a" is taken by line 1',
    );
    expect(await mistakesOf('{"id":"build","prompt":"x"}\n{"prompt":"y","depends_on":["biuld"]}')).toContain(
      'tasks.jsonl:2: depends_on: there is no task "biuld". Did you mean "build"?',
    );
    const circle = ['a', 'b', 'c'].map((id, i) => JSON.stringify({ id, prompt: 'x', depends_on: 'bca'.charAt(i) }));
    expect(await mistakesOf(circle.join('\n'))).toContain('tasks wait for each other: a → b → c → a');
    expect(await mistakesOf('{"id":"a","prompt":"x","depends_on":"a"}')).toContain('a → a');
    const chain = Array.from({ length: 20_000 }, (_, i) =>
      JSON.stringify({ id: `t${i}`, prompt: 'x', ...(i > 0 ? { depends_on: `t${i - 1}` } : {}) }),
    );
    expect(await readTasks(chain.join('\n'), 'long.jsonl')).toHaveLength(20_000);
  });

  test('an empty file is told so, and a key that reaches a prototype is an unknown key', async () => {
    expect(await mistakesOf('\n\n')).toContain('holds no task');
    expect(await mistakesOf('{"prompt":"x","__proto__":{"mode":"edit"}}')).toContain('unknown key "__proto__"');
  });
});
