// Reads a file of tasks, JSON lines or YAML, and says of every mistake in which line it is, before anything runs. Whether repositories
// and commits exist is submit.ts's.

import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { nearestName } from '../nearest-name.ts';
import { type TaskLine, taskLineSchema } from './task.ts';

/** A task as it was written. Its id is given: `line-N` where it has none. */
export interface WrittenTask extends TaskLine {
  readonly id: string;
  readonly line: number;
  readonly needs: readonly string[];
}

interface Entry {
  readonly line: number;
  readonly value: unknown;
}

const MAX_TASKS = 100_000;
const MAX_SHOWN = 20;

/** `name` is what mistakes are reported under. Throws UserError with a line for each, up to 20. */
export async function readTasks(text: string, name: string): Promise<readonly WrittenTask[]> {
  const mistakes: { readonly line: number; readonly text: string }[] = [];
  const complain: Complain = (line, what) => void mistakes.push({ line, text: `${name}:${line}: ${what}` });
  const source = text.replace(/^\ufeff/, '');
  const entries = isYaml(source, name) ? await yamlEntries(source, complain) : lineEntries(source, complain);
  const tasks = entries.flatMap(({ line, value }) => taskOf(line, value, complain) ?? []);
  if (mistakes.length === 0 && tasks.length === 0) {
    throw new UserError(`${name} holds no task. Write one a line, for example {"prompt": "…", "mode": "ask"}.`);
  }
  if (tasks.length > MAX_TASKS) throw new UserError(`${name} has ${tasks.length} tasks; ${MAX_TASKS} is the most.`);
  checkIds(tasks, complain);
  refuse(mistakes.toSorted((a, b) => a.line - b.line).map(({ text }) => text));
  return tasks;
}

/** Throws when there are mistakes. */
export function refuse(mistakes: readonly string[]): void {
  if (mistakes.length === 0) return;
  const more = mistakes.length > MAX_SHOWN ? [`… and ${mistakes.length - MAX_SHOWN} more.`] : [];
  throw new UserError([...mistakes.slice(0, MAX_SHOWN), ...more].map((line) => cleanLine(line)).join('\n'));
}

type Complain = (line: number, what: string) => void;

/** By the file's name; what comes through a pipe by its first character. */
const isYaml = (text: string, name: string): boolean =>
  /\.ya?ml$/i.test(name) || (!/\.(jsonl|ndjson|json)$/i.test(name) && !/^\s*(\{|$)/.test(text));

function lineEntries(text: string, complain: Complain): readonly Entry[] {
  return text.split(/\r?\n/).flatMap((line, i): readonly Entry[] => {
    if (line.trim() === '') return [];
    try {
      return [{ line: i + 1, value: JSON.parse(line) as unknown }];
    } catch {
      complain(i + 1, 'not valid JSON. Write one object a line, on one line.');
      return [];
    }
  });
}

async function yamlEntries(text: string, complain: Complain): Promise<readonly Entry[]> {
  const { isMap, isSeq, LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, uniqueKeys: true });
  for (const { pos, message } of document.errors) {
    complain(
      lineCounter.linePos(pos[0]).line,
      `not valid YAML: ${message.split('\n', 1)[0]?.replace(/ at line .*/, '')}.`,
    );
  }
  if (document.errors.length > 0) return [];
  const { contents } = document;
  const list = isMap(contents) ? contents.get('tasks', true) : contents;
  if (!isSeq(list)) {
    complain(1, 'the tasks must be a list: each begins with "- prompt: …".');
    return [];
  }
  return list.items.flatMap((item): readonly Entry[] => {
    const offset = (item as { readonly range?: readonly [number, number, number] | null }).range?.[0] ?? 0;
    const { line } = lineCounter.linePos(offset);
    try {
      const value = (item as { toJS(doc: unknown, options: object): unknown }).toJS(document, { maxAliasCount: 100 });
      return [{ line, value }];
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      complain(line, 'an alias (*name) stands for nothing that was named before (&name), or for far too much.');
      return [];
    }
  });
}

function taskOf(line: number, value: unknown, complain: Complain): WrittenTask | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    complain(line, 'a task must be an object with a "prompt".');
    return null;
  }
  const parsed = taskLineSchema.safeParse(value);
  if (parsed.success) {
    const { depends_on = [], ...task } = parsed.data;
    return {
      ...task,
      id: task.id ?? `line-${line}`,
      line,
      needs: typeof depends_on === 'string' ? [depends_on] : depends_on,
    };
  }
  for (const issue of parsed.error.issues) {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) complain(line, unknownKey(key, path));
    } else if (path === 'prompt' && !('prompt' in value)) complain(line, 'a task needs a "prompt".');
    else complain(line, `"${path}": ${issue.message}.`);
  }
  return null;
}

function unknownKey(key: string, path: string): string {
  const known = path === 'budget' ? ['usd', 'tokens'] : Object.keys(taskLineSchema.shape);
  const near = nearestName(key, known);
  const where = path === '' ? '' : ` in "${path}"`;
  return `unknown key "${key}"${where}. ${near === null ? `Known: ${known.join(', ')}.` : `Did you mean "${near}"?`}`;
}

/** Every id once, every dependency there, and no task that waits for itself. */
function checkIds(tasks: readonly WrittenTask[], complain: Complain): void {
  const byId = new Map<string, WrittenTask>();
  for (const task of tasks) {
    const first = byId.get(task.id);
    if (first) complain(task.line, `the id "${task.id}" is taken by line ${first.line}. Give each task its own.`);
    else byId.set(task.id, task);
  }
  for (const { needs, line } of tasks) {
    for (const need of needs) {
      if (byId.has(need)) continue;
      const near = nearestName(need, [...byId.keys()].slice(0, 1000));
      complain(line, `depends_on: there is no task "${need}".${near === null ? '' : ` Did you mean "${near}"?`}`);
    }
  }
  const cycle = findCycle(byId);
  if (cycle) complain(byId.get(cycle[0] ?? '')?.line ?? 1, `tasks wait for each other: ${cycle.join(' → ')}.`);
}

/** The first circle of dependencies, its first task again at the end; null when there is none. Iterative: chains may be long. */
function findCycle(byId: ReadonlyMap<string, WrittenTask>): readonly string[] | null {
  const state = new Map<string, 'open' | 'done'>();
  for (const root of byId.keys()) {
    const path: { readonly id: string; next: number }[] = state.has(root) ? [] : [{ id: root, next: 0 }];
    if (path.length > 0) state.set(root, 'open');
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const need = byId.get(top.id)?.needs[top.next];
      top.next += 1;
      if (need === undefined) {
        state.set(top.id, 'done');
        path.pop();
      } else if (state.get(need) === 'open') {
        const ids = path.map(({ id }) => id);
        return [...ids.slice(ids.indexOf(need)), need];
      } else if (!state.has(need) && byId.has(need)) {
        state.set(need, 'open');
        path.push({ id: need, next: 0 });
      }
    }
  }
  return null;
}
