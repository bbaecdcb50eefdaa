import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { todoWriteTool } from '../../tools/todo-write.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
});
afterAll(() => bench.close());

const todo = (id: string, status: string, content = `Do ${id}`) => ({ id, content, status });

test('O11: TodoWrite hands the list on as State and shows it', async () => {
  const todos = [todo('1', 'completed'), todo('2', 'in_progress'), todo('3', 'pending')];
  const outcome = await bench.run(todoWriteTool, { todos });
  expect(outcome).toEqual({
    ok: true,
    value: {
      text: 'Todo list, 1 of 3 done:\n[x] 1: Do 1\n[>] 2: Do 2\n[ ] 3: Do 3',
      description: 'Todos: 1 of 3 done',
      todos,
    },
  });
  expect(todoWriteTool.effect).toBe('read');
});

test('O11: an empty list clears it, and several in progress are discouraged', async () => {
  expect(await bench.text(todoWriteTool, { todos: [] })).toBe('The todo list is empty now.');
  const two = await bench.text(todoWriteTool, { todos: [todo('1', 'in_progress'), todo('2', 'in_progress')] });
  expect(two).toContain('Keep it at one at a time.');
});

test('E10: empty contents, unknown states, double ids and missing fields are for the model to correct', async () => {
  const bad = [
    [todo('1', 'pending', '  ')],
    [todo('1', 'done')],
    [{ id: '1', content: 'x' }],
    [{ ...todo('1', 'pending'), more: 1 }],
  ];
  for (const todos of bad) {
    expect(todoWriteTool.parse(JSON.stringify({ todos }))).toMatchObject({ ok: false, failure: { kind: 'invalid' } });
  }
  const twice = await bench.run(todoWriteTool, { todos: [todo('1', 'pending'), todo('1', 'completed')] });
  expect(twice).toMatchObject({ ok: false, failure: { code: 'double_id' } });
});
