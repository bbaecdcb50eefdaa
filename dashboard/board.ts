// bull-board under /queues, behind the guard: it has no login of its own and can change everything by default (SAFETY 6). It only shows,
// unless the user has started it otherwise; a change never comes from another site, and what it shows is cleaned of secrets.

import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { ShownQueue } from '../orchestrator/watch/open-queues.ts';
import type { ShowSafely } from './show-safely.ts';

export async function addBoard(
  app: FastifyInstance,
  options: { readonly queues: readonly ShownQueue[]; readonly show: ShowSafely; readonly allowActions: boolean },
): Promise<void> {
  const [{ createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/fastify'),
  ]);
  const { show, allowActions } = options;
  const queues = options.queues.map(({ label, queue }) => {
    const adapter = new BullMQAdapter(queue, { readOnlyMode: !allowActions, description: label });
    for (const field of ['data', 'returnValue', 'progress', 'name'] as const) {
      adapter.setFormatter(field, (value: unknown) => show(value) as string);
    }
    return adapter;
  });
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath('/queues');
  createBullBoard({
    queues,
    serverAdapter,
    options: {
      uiBasePath: fileURLToPath(new URL('.', import.meta.resolve('@bull-board/ui/package.json'))),
      uiConfig: { boardTitle: 'Odin’s queues', hideRedisDetails: true, miscLinks: [{ text: 'Sessions', url: '/' }] },
    },
  });
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'cookie' };
    });
    scope.addHook('onRequest', async (request, reply) => {
      if (allowActions || request.method === 'GET' || request.method === 'HEAD') return;
      await reply
        .code(405)
        .send({ error: 'The queues are only shown. Start it with --allow-queue-actions to change them.' });
    });
    await scope.register(serverAdapter.registerPlugin(), { prefix: '/queues' });
  });
}
