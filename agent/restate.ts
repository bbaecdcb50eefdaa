// What the folds of a session say of it when its conversation is compacted (SPEC O21): for the opening, and for judging relevance (E15).

import type { Restated } from '../llm/context/opening.ts';
import type { Task } from '../llm/context/relevance.ts';
import { toolCallsOf } from '../shared/messages.ts';
import type { AgentMemory } from './memory.ts';
import { sessionScope } from './permissions-memory.ts';

/** Earlier messages whose words count as what the task is about. */
const TASK_MESSAGES = 3;
const TASK_FILES = 20;

export function restatedOf({ state, permissions }: AgentMemory, root: string): Restated {
  return {
    bodies: spoken(state).flatMap(({ body, words = [] }) => [body, ...words]),
    changedFiles: [...new Set(filesOf(state, root))],
    grants: [...new Set(permissions.grants.map(sessionScope))],
  };
}

export function taskOf({ state, history }: AgentMemory, root: string, recent: number): Task {
  const named = history.messages
    .slice(-Math.max(1, recent))
    .flatMap((message) => (message.role === 'assistant' ? toolCallsOf(message.parts) : []))
    .flatMap(({ rawArgs }) => [...rawArgs.matchAll(/"(?:file_path|path)"\s*:\s*"([^"\\]+)"/g)].map(([, path]) => path));
  const touched = named.flatMap((path) => (path === undefined ? [] : [fromRoot(path, root)]));
  return {
    words: spoken(state)
      .slice(-TASK_MESSAGES)
      .flatMap(({ body, words = [] }) => [body, ...words])
      .join('\n'),
    todos: state.todos
      .filter(({ status }) => status !== 'completed')
      .map(({ content }) => content)
      .join('\n'),
    files: [...new Set([...filesOf(state, root), ...touched])].slice(-TASK_FILES),
  };
}

const spoken = ({ messages }: AgentMemory['state']) => messages.filter(({ outside }) => outside === undefined);

const filesOf = ({ messages }: AgentMemory['state'], root: string): readonly string[] =>
  messages.flatMap(({ toolHistory }) =>
    toolHistory.flatMap(({ affectedFiles }) => affectedFiles.map((path) => fromRoot(path, root))),
  );

const fromRoot = (path: string, root: string): string =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
