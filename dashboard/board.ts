// bull-board under /queues, behind the guard: it has no login of its own and can change everything by default (SAFETY 6). It only shows,
// unless the user has started it otherwise; a change never comes from another site, and what it shows is cleaned of secrets. It and
// BullMQ are loaded when somebody opens it, for few do: until then it costs neither memory nor connections.

import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { ShownQueues } from '../orchestrator/watch/open-queues.ts';
import type { ShowSafely } from './show-safely.ts';

export interface BoardOptions {
  readonly queues: () => Promise<ShownQueues>;
  readonly show: ShowSafely;
  readonly allowActions: boolean;
  readonly bodyLimit: number;
  onError(error: unknown): void;
}

/** Returns what closes it, if it was opened. */
export function addBoard(app: FastifyInstance, options: BoardOptions): () => Promise<void> {
  let opened: ReturnType<typeof openBoard> | null = null;
  const open = () => {
    opened ??= openBoard(options).catch((error: unknown) => {
      // With Redis away; the next visitor finds it back.
      opened = null;
      throw error;
    });
    return opened;
  };
  void app.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (options.allowActions || request.method === 'GET' || request.method === 'HEAD') return;
      await reply
        .code(405)
        .send({ error: 'The queues are only shown. Start it with --allow-queue-actions to change them.' });
    });
    // The board's own server reads the body.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const url of ['/queues', '/queues/*']) {
      scope.all(url, { config: { access: 'cookie' } }, async (request, reply) => {
        const { board } = await open();
        for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string);
        reply.hijack();
        board.routing(request.raw, reply.raw);
      });
    }
  });
  return async () => {
    const made = await opened?.catch(() => null);
    await made?.board.close();
    await made?.queues.close();
  };
}

async function openBoard({ queues: openQueues, show, allowActions, bodyLimit, onError }: BoardOptions) {
  const [{ fastify }, { createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] = await Promise.all([
    import('fastify'),
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/fastify'),
  ]);
  const board = fastify({ bodyLimit }) as unknown as FastifyInstance;
  board.removeContentTypeParser('text/plain');
  board.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode >= 500) onError(error);
    return reply
      .code(statusCode)
      .send({ error: show(statusCode < 500 ? error.message : 'The queues cannot be read.') });
  });
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath('/queues');
  const queues = await openQueues();
  const adapters = queues.all.map(({ label, queue }) => {
    const adapter = new BullMQAdapter(queue, { readOnlyMode: !allowActions, description: label });
    for (const field of ['data', 'returnValue', 'progress', 'name'] as const) {
      adapter.setFormatter(field, (value: unknown) => show(value) as string);
    }
    return adapter;
  });
  createBullBoard({
    queues: adapters,
    serverAdapter,
    options: {
      uiBasePath: fileURLToPath(new URL('.', import.meta.resolve('@bull-board/ui/package.json'))),
      uiConfig: { boardTitle: 'Odin’s queues', hideRedisDetails: true, miscLinks: [{ text: 'Sessions', url: '/' }] },
    },
  });
  await board.register(serverAdapter.registerPlugin(), { prefix: '/queues' });
  await board.ready();
  return { board, queues };
}
