// The tasks of a batch with their sessions, which live in working copies, workspaces of their own: which session a task has, running or
// over, and whether a session is that of a task of this project.

import { readArchiveHeader } from '../archive-file.ts';
import { type ItemResult, openBatchStore } from '../batch/store.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

/** What a list of tasks shows of one. */
export interface ShownTask {
  readonly id: string;
  readonly line: number;
  /** running, or how it ended. */
  readonly status: 'running' | ItemResult['status'];
  readonly reason: string;
  /** What was asked, and what was answered; beginnings. */
  readonly prompt: string;
  readonly answer: string;
  /** Null: it has none. */
  readonly session: string | null;
  readonly worker: string | null;
  readonly costUsd: number | null;
  readonly steps: number;
}

export const TASK_KINDS = ['running', 'completed', 'other'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

export interface TaskPage {
  readonly tasks: readonly ShownTask[];
  readonly total: number;
}

export interface BatchTasks {
  /** The first tasks of a kind, by line; `other` ended otherwise than completed. Null: no batch of this project. */
  list(bid: string, kind: TaskKind): Promise<TaskPage | null>;
  /** Whether the session is the task's, and the batch one of this project. */
  isTasks(sid: string, bid: string, item: string): Promise<boolean>;
}

const MOST_TASKS = 100;
const MOST_CHARS = 300;
const CHUNK = 500;

/** `root`: the project's. */
export function openBatchTasks(source: { readonly redis: OdinRedis; readonly home: string }, root: string): BatchTasks {
  const { redis } = source;
  const store = openBatchStore(redis);

  const isOfProject = async (bid: string): Promise<boolean> =>
    (await redis.hget(keys.batch(bid).meta, 'root')) === root;

  const withPrompts = async (bid: string, tasks: readonly ShownTask[]): Promise<readonly ShownTask[]> => {
    const whole = await store.tasksOf(
      bid,
      tasks.map(({ id }) => id),
    );
    return tasks.map((task, i) => ({
      ...task,
      line: whole[i]?.line ?? task.line,
      prompt: (whole[i]?.prompt ?? '').slice(0, MOST_CHARS),
    }));
  };

  const running = async (bid: string): Promise<TaskPage> => {
    const runs = await store.runs(bid);
    const shown = [...runs].slice(0, MOST_TASKS);
    const sessions = await store.sessions(bid);
    const tasks = shown.map(([id, { worker }]): ShownTask => {
      const session = sessions.get(id)?.at(-1) ?? null;
      return {
        ...{ id, session, worker, status: 'running', line: 0, reason: '' },
        ...{ prompt: '', answer: '', costUsd: null, steps: 0 },
      };
    });
    return { tasks: byLine(await withPrompts(bid, tasks)), total: runs.size };
  };

  const over = async (bid: string, isWanted: (result: ItemResult) => boolean): Promise<TaskPage> => {
    const items = await store.items(bid);
    const tasks: ShownTask[] = [];
    let total = 0;
    for (let at = 0; at < items.length; at += CHUNK) {
      for (const result of await store.results(bid, items.slice(at, at + CHUNK))) {
        if (result === null || !isWanted(result)) continue;
        total += 1;
        const { id, line, status, reason, answer, session, worker, costUsd, steps } = result;
        const shown = { id, line, status, reason, session, worker, costUsd, steps };
        tasks.push({ ...shown, prompt: '', answer: answer.slice(0, MOST_CHARS) });
      }
      if (tasks.length > 2 * MOST_TASKS) tasks.splice(0, tasks.length, ...byLine(tasks).slice(0, MOST_TASKS));
    }
    return { tasks: await withPrompts(bid, byLine(tasks).slice(0, MOST_TASKS)), total };
  };

  return {
    async list(bid, kind) {
      if (!(await isOfProject(bid))) return null;
      if (kind === 'running') return running(bid);
      return over(bid, ({ status }) => (status === 'completed') === (kind === 'completed'));
    },

    async isTasks(sid, bid, item) {
      if (!(await isOfProject(bid))) return false;
      if ((await store.results(bid, [item]))[0]?.session === sid) return true;
      return (await store.sessions(bid)).get(item)?.includes(sid) ?? false;
    },
  };
}

/** Where a session is, in Redis or in its file; null when there is none. */
export async function placeOfSession(
  { redis, home }: { readonly redis: OdinRedis; readonly home: string },
  sid: string,
): Promise<{ readonly ws: string } | null> {
  const ws = await redis.hget(keys.session(sid).meta, 'ws');
  return ws === null ? await readArchiveHeader(home, sid).catch(() => null) : { ws };
}

const byLine = (tasks: readonly ShownTask[]): readonly ShownTask[] => tasks.toSorted((a, b) => a.line - b.line);
