// The volatile facts (SPEC O8, ARCHITECTURE 9): the todos, open questions, running agents, which files are cached, a warning about repeated
// calls. They are appended to the newest message, only what is new since they were last told, and stay there: the prefix never changes.
// After a compaction nothing counts as told, so all of it is told again.

import type { AgentResult, CachedFileInfo, SubAgent, Todo, UserWord } from '../../shared/state.ts';

/** What the planner has been told so far: one line for each key. */
export type ToldFacts = ReadonlyMap<string, string>;

export interface CurrentFacts {
  readonly date: string;
  readonly cached: readonly CachedFileInfo[];
  readonly todos: readonly Todo[];
  readonly agents: readonly Pick<SubAgent, 'id' | 'title' | 'mode' | 'status' | 'todos'>[];
  /** Background agents that have ended, the newest last. */
  readonly ended?: readonly AgentResult[];
  /** What the user said while this runs. */
  readonly words?: readonly UserWord[];
  /** Questions to the user that nobody has answered. */
  readonly questions: readonly { readonly id: string; readonly title: string; readonly agent?: string }[];
  /** Identical steps in a row, from the agent machine. */
  readonly repeats: number;
  readonly root: string;
  /** That a limit is near; null while none is. Told once, as it was when it came near. */
  readonly budget?: string | null;
}

/** Of files. All else is told in any case. */
const MAX_LINES = 40;
/** Todos longer than this in all are told by their beginnings. */
const MAX_TODOS_CHARS = 12_000;
const SHORT_TODO = 120;
/** Of a background agent's result; the planner reads the rest with a call. */
const ENDED_CHARS = 300;

/** The text to append, or null when nothing is new, and what the planner then knows. */
export function renderFacts(
  told: ToldFacts,
  now: CurrentFacts,
  repeatsTold: number,
): { readonly text: string | null; readonly told: ToldFacts } {
  const current = factLines(now);
  if (now.budget) current.set('budget', told.get('budget') ?? now.budget);
  const fresh = [...current].filter(([key, line]) => told.get(key) !== line);
  const isFile = ([key]: readonly [string, string]): boolean => key.startsWith(FILE);
  const files = fresh.filter(isFile);
  const lines = [...fresh.filter((entry) => !isFile(entry)), ...files.slice(0, MAX_LINES)].map(([, line]) => line);
  if (files.length > MAX_LINES) lines.push(`cached: and ${files.length - MAX_LINES} more files`);
  const gone = (kind: string): readonly string[] =>
    [...told.keys()].filter((key) => key.startsWith(kind) && !current.has(key)).map((key) => key.slice(kind.length));
  const uncached = gone(FILE).slice(0, MAX_LINES);
  if (uncached.length > 0) lines.push(`no longer cached: ${uncached.join(', ')}`);
  if (gone(AGENT).length > 0) lines.push(`agents that have ended: ${gone(AGENT).join(', ')}`);
  if (gone(QUESTION).length > 0) lines.push(`${gone(QUESTION).length} open questions are settled now`);
  if (told.has('todos') && !current.has('todos')) lines.push('todos: none');
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
  if (now.todos.length > 0) lines.set('todos', todosLine(now.todos));
  for (const { id, title, agent } of now.questions) {
    lines.set(`${QUESTION}${id}`, `open question to the user${agent === undefined ? '' : ` from ${agent}`}: ${title}`);
  }
  for (const [i, { at, text }] of (now.words ?? []).entries())
    lines.set(`word:${at}.${i}`, `The user says, while you work: ${text}`);
  for (const result of now.ended ?? []) lines.set(`ended:${result.id}`, endedLine(result));
  for (const { id, title, mode, status, todos } of now.agents) {
    const open = todos.filter((todo) => todo.status !== 'completed').length;
    lines.set(`${AGENT}${id}`, `agent ${id} (${mode}, ${status}): ${title}${open === 0 ? '' : `, ${open} todos open`}`);
  }
  for (const file of newestFirst(now.cached)) {
    const { key, line } = fileFact(file, now.root);
    lines.set(key, line);
  }
  return lines;
}

const FILE = 'file:';
const AGENT = 'agent:';
const QUESTION = 'question:';

function endedLine({ id, title, end, limit, text }: AgentResult): string {
  const how = limit === null ? end : `${end} (${limit})`;
  return `background agent ${id} (${title}) has ended: ${how}. It begins: ${shortened(text.replace(/\s+/g, ' '), ENDED_CHARS)} For all of it call AgentTool with {"result_of":"${id}"}`;
}

/** When not all can be told, it is the newest that are. */
const newestFirst = (files: readonly CachedFileInfo[]): readonly CachedFileInfo[] =>
  files.length <= MAX_LINES ? files : files.toSorted((a, b) => b.cachedAt - a.cachedAt);

function todosLine(todos: readonly Todo[]): string {
  const lineOf = (limit: number): string =>
    `todos: ${todos.map(({ status, content }) => `[${MARK[status]}] ${shortened(content, limit)}`).join('; ')}`;
  const whole = lineOf(Number.POSITIVE_INFINITY);
  return whole.length <= MAX_TODOS_CHARS ? whole : lineOf(SHORT_TODO);
}

const shortened = (text: string, limit: number): string => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

const MARK = { pending: ' ', in_progress: '>', completed: 'x' } as const;

interface FileFact {
  readonly root: string;
  readonly key: string;
  readonly line: string;
}

const fileFacts = new WeakMap<CachedFileInfo, FileFact>();

/** Asked for every file with every request: kept as long as what is known of the file stays the same. */
function fileFact(file: CachedFileInfo, root: string): FileFact {
  const known = fileFacts.get(file);
  if (known?.root === root) return known;
  const name = file.filePath.startsWith(`${root}/`) ? file.filePath.slice(root.length + 1) : file.filePath;
  const fact = { root, key: `${FILE}${name}`, line: fileLine(name, file) };
  fileFacts.set(file, fact);
  return fact;
}

function fileLine(name: string, file: CachedFileInfo): string {
  const part = file.truncated ? `lines ${file.ranges.join(', ')} of ${file.totalLines}` : `${file.totalLines} lines`;
  const modified = file.isModified ? ', modified by you' : '';
  return `cached: ${name} (${part}, ${file.size} bytes, ${clock(file.mtimeMs)}${modified})`;
}

const clock = (ms: number): string => new Date(ms).toISOString().slice(0, 19);
