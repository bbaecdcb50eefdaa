// The tasks of a batch on the page: a list of each kind, and their sessions, which belong to no project's list. They are read and nothing
// else: who runs them is the batch's to decide.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { FileDiff } from '../orchestrator/api.ts';
import { openBatchStore } from '../orchestrator/batch/store.ts';
import type { OdinRedis } from '../orchestrator/redis.ts';
import { openBatchTasks, placeOfSession, TASK_KINDS } from '../orchestrator/watch/batch-tasks.ts';
import type { ShowSafely } from './show-safely.ts';

export interface SessionAccess {
  /** Whether the request may read, or change, the session that it names. */
  allows(request: FastifyRequest, sid: string): Promise<boolean>;
  /** What a task has changed, when the request is about one: its patch, once it has ended. Null: about a session of the project. */
  taskFiles(request: FastifyRequest): Promise<readonly FileDiff[] | null>;
}

const nameSchema = z.string().min(1).max(200);
/** In the address of a task's session: whose it is. */
const taskQuerySchema = z.object({ batch: nameSchema, task: nameSchema });
const kindSchema = z.object({ kind: z.enum(TASK_KINDS) });

export function addTasks(
  app: FastifyInstance,
  deps: {
    readonly redis: OdinRedis;
    readonly home: string;
    readonly root: string;
    readonly ws: string;
    readonly show: ShowSafely;
  },
): SessionAccess {
  const { redis, home, root, ws, show } = deps;
  const store = openBatchStore(redis);
  const tasks = openBatchTasks({ redis, home }, root);

  app.get<{ Params: { bid: string } }>('/api/batches/:bid/tasks', async (request, reply) => {
    const { bid } = request.params;
    const { kind } = kindSchema.parse(request.query);
    const page = await tasks.list(bid, kind);
    return page === null ? reply.code(404).send({ error: 'There is no such batch in this project.' }) : show(page);
  });

  return {
    async allows(request, sid) {
      if (!/^[0-9A-Z]{26}$/.test(sid)) return false;
      const asked = taskQuerySchema.safeParse(request.query);
      if (asked.success) return request.method === 'GET' && tasks.isTasks(sid, asked.data.batch, asked.data.task);
      // Not by what the watch knows: a session may have begun since it looked.
      return (await placeOfSession({ redis, home }, sid))?.ws === ws;
    },
    async taskFiles(request) {
      const asked = taskQuerySchema.safeParse(request.query);
      return asked.success ? filesIn((await store.patch(asked.data.batch, asked.data.task)) ?? '') : null;
    },
  };
}

/** A patch by its files. */
function filesIn(patch: string): readonly FileDiff[] {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith('diff --git '))
    .map((diff) => {
      const count = (sign: string): number =>
        diff.split('\n').filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
      return {
        path: nameIn(diff),
        status: /^new file mode/m.test(diff) ? 'created' : /^deleted file mode/m.test(diff) ? 'deleted' : 'changed',
        ...{ added: count('+'), removed: count('-'), diff },
      };
    });
}

const nameIn = (diff: string): string =>
  /^\+\+\+ b\/(.+)$/m.exec(diff)?.[1] ?? /^--- a\/(.+)$/m.exec(diff)?.[1] ?? diff.split('\n', 1)[0] ?? '';
