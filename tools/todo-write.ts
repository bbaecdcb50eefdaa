// TodoWrite (SPEC O11): the whole todo list, written anew each time. It changes State only, so it is there in all modes.

import * as z from 'zod';
import { defineTool } from '../shared/define-tool.ts';
import { fail, ok } from '../shared/outcome.ts';
import type { Todo, TodoStatus } from '../shared/state.ts';
import { capText } from './cap-text.ts';

const schema = z.strictObject({
  todos: z
    .array(
      z.strictObject({
        id: z.string().min(1).max(100),
        content: z.string().trim().min(1).max(2000),
        status: z.enum(['pending', 'in_progress', 'completed']),
      }),
    )
    .max(200)
    .describe('The whole list; it replaces the old one'),
});

const MARK: Record<TodoStatus, string> = { pending: '[ ]', in_progress: '[>]', completed: '[x]' };

export const todoWriteTool = defineTool({
  name: 'TodoWrite',
  version: '1',
  description:
    'Replaces the todo list that you and the user see. Use it for tasks of three or more steps and for several requests at once. ' +
    'Set one todo in_progress before you work on it, at most one at a time, and completed as soon as it is done.',
  schema,
  effect: 'read',
  execute({ todos }) {
    const double = todos.find((todo, i) => todos.findIndex((other) => other.id === todo.id) !== i);
    if (double) {
      const why = `Two todos have the id ${JSON.stringify(double.id)}. Give each its own id and send the whole list again.`;
      return Promise.resolve(fail('invalid', 'double_id', why));
    }
    const done = countOf(todos, 'completed');
    return Promise.resolve(
      ok({
        text: capText(render(todos), 'Keep the list shorter.'),
        description: todos.length ? `Todos: ${done} of ${todos.length} done` : 'Todos cleared',
        todos,
      }),
    );
  },
});

function render(todos: readonly Todo[]): string {
  if (todos.length === 0) return 'The todo list is empty now.';
  const several = countOf(todos, 'in_progress') > 1 ? ['More than one is in progress. Keep it at one at a time.'] : [];
  const rows = todos.map((todo) => `${MARK[todo.status]} ${todo.id}: ${todo.content}`);
  return [`Todo list, ${countOf(todos, 'completed')} of ${todos.length} done:`, ...rows, ...several].join('\n');
}

const countOf = (todos: readonly Todo[], status: TodoStatus): number =>
  todos.filter((todo) => todo.status === status).length;
