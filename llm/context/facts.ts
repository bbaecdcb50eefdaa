// The volatile facts (SPEC O8, ARCHITECTURE 9): which files are cached, the todos, a warning about repeated calls. They are
// appended to the newest message, only what is new since they were last told, and stay there: the prefix never changes.

import type { CachedFileInfo, Todo } from '../../shared/state.ts';

/** What the planner has been told so far: one line for each key. */
export type ToldFacts = ReadonlyMap<string, string>;

export interface CurrentFacts {
  readonly date: string;
  readonly cached: readonly CachedFileInfo[];
  readonly todos: readonly Todo[];
  /** Identical steps in a row, from the agent machine. */
  readonly repeats: number;
  readonly root: string;
}

const MAX_LINES = 40;

/** The text to append, or null when nothing is new, and what the planner then knows. */
export function renderFacts(
  told: ToldFacts,
  now: CurrentFacts,
  repeatsTold: number,
): { readonly text: string | null; readonly told: ToldFacts } {
  const current = factLines(now);
  const fresh = [...current].filter(([key, line]) => told.get(key) !== line).map(([, line]) => line);
  const gone = [...told.keys()].filter((key) => key.startsWith('file:') && !current.has(key));
  const lines = fresh.slice(0, MAX_LINES);
  if (fresh.length > MAX_LINES) lines.push(`cached: and ${fresh.length - MAX_LINES} more files`);
  if (gone.length > 0)
    lines.push(
      `no longer cached: ${gone
        .slice(0, MAX_LINES)
        .map((key) => key.slice(5))
        .join(', ')}`,
    );
  if (now.repeats >= repeatsTold) {
    lines.push(
      `The same calls gave the same results ${now.repeats + 1} times in a row. Do something else, or answer with what you have.`,
    );
  }
  const text = lines.length === 0 ? null : `<facts>\n${lines.join('\n')}\n</facts>`;
  return { text, told: current };
}

function factLines(now: CurrentFacts): Map<string, string> {
  const lines = new Map<string, string>([['date', `today: ${now.date}`]]);
  for (const file of now.cached) {
    const name = file.filePath.startsWith(`${now.root}/`) ? file.filePath.slice(now.root.length + 1) : file.filePath;
    lines.set(`file:${name}`, fileLine(name, file));
  }
  if (now.todos.length > 0) {
    const todos = now.todos.map((todo) => `[${MARK[todo.status]}] ${todo.content}`).join('; ');
    lines.set('todos', `todos: ${todos}`);
  }
  return lines;
}

const MARK = { pending: ' ', in_progress: '>', completed: 'x' } as const;

function fileLine(name: string, file: CachedFileInfo): string {
  const part = file.truncated ? `lines ${file.ranges.join(', ')} of ${file.totalLines}` : `${file.totalLines} lines`;
  const modified = file.isModified ? ', modified by you' : '';
  return `cached: ${name} (${part}, ${file.size} bytes, ${clock(file.mtimeMs)}${modified})`;
}

const clock = (ms: number): string => new Date(ms).toISOString().slice(0, 19);
