// What stands between the conversation and the editor: the todo list, which updates in place, and the messages that wait.

import { cleanLine } from '../../../shared/clean-text.ts';
import type { QueuedMessage, Todo } from '../../../shared/state.ts';
import type { Theme } from '../theme.ts';
import type { AgentLine } from '../view.ts';
import { fitParts, guard } from './lines.ts';

const MARKS = { pending: '☐', in_progress: '◐', completed: '☑' } as const;
const MAX_TODOS = 8;
const MAX_QUEUED = 5;
const MAX_AGENTS = 10;

/** Empty when all is done or there is none. Of a long list, the part around what is being done; while nothing runs, that alone. */
export function todoLines(todos: readonly Todo[], theme: Theme, width: number, isRunning = true): string[] {
  const done = todos.filter(({ status }) => status === 'completed').length;
  if (todos.length === 0 || done === todos.length) return [];
  const current = todos.findIndex(({ status }) => status !== 'completed');
  if (!isRunning) {
    const next = cleanLine(todos[current]?.content ?? '', 200);
    return [guard(` ${theme.dim(`todos ${done} of ${todos.length}, next: ${next}`)}`, width)];
  }
  const from = Math.max(0, Math.min(current - 2, todos.length - MAX_TODOS));
  const shown = todos.slice(from, from + MAX_TODOS);
  const styles = { pending: (text: string) => text, in_progress: theme.accent, completed: theme.dim };
  const left = todos.length - shown.length;
  return [
    guard(` ${theme.dim(`todos ${done} of ${todos.length}${left > 0 ? `, ${left} not shown` : ''}`)}`, width),
    ...shown.map(({ status, content }) =>
      guard(`   ${styles[status](`${MARKS[status]} ${cleanLine(content)}`)}`, width),
    ),
  ];
}

const QUEUE_KEYS = ['Alt-Up edits the last one', '/queue shows all', 'Ctrl-S says the first one now'];

export function queueLines(queue: readonly QueuedMessage[], theme: Theme, width: number): string[] {
  const lines = queue
    .slice(0, MAX_QUEUED)
    .map(({ mode, body, steered }) =>
      guard(
        ` ${theme.dim('↳')} ${steered === true ? theme.warn('told with the next step:') : theme.accent(mode)} ${theme.dim(cleanLine(body, 400))}`,
        width,
      ),
    );
  const rest = queue.length - MAX_QUEUED;
  if (rest > 0) lines.push(guard(theme.dim(`   … ${rest} more`), width));
  if (queue.length > 0) lines.push(`   ${fitParts(QUEUE_KEYS, width - 3, theme.dim(' · '))}`);
  return lines;
}

/** The subagents at work, each with what it does and what is open of its todos; one that has ended stays until its message ends. */
export function agentLines(agents: readonly AgentLine[], theme: Theme, width: number): string[] {
  return agents.slice(-MAX_AGENTS).map(({ title, step, doing, tokens, todos, end }, i, shown) => {
    const done = todos.filter(({ status }) => status === 'completed').length;
    const mark = end === null ? theme.accent('●') : end === 'completed' ? theme.good('✓') : theme.bad('✗');
    const parts = [
      `${theme.dim(i === shown.length - 1 ? '└' : '├')} ${mark} ${theme.bold(cleanLine(title, 40))}`,
      end ?? cleanLine(doing, 60),
      step > 0 ? theme.dim(`step ${step}`) : '',
      todos.length > 0 ? theme.dim(`todos ${done} of ${todos.length}`) : '',
      tokens > 0 ? theme.dim(`${Math.ceil(tokens / 1_000)}k tokens`) : '',
    ];
    return guard(` ${fitParts(parts, width - 1, theme.dim(' · '))}`, width);
  });
}
