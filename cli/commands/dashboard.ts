// `odin dashboard`: serves the page until Ctrl-C. It prints a link that works once, and the next one when it has been used; it opens no
// browser and runs no turns.

import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { onInterrupt } from '../interrupts.ts';
import { beginLean } from '../lean-process.ts';
import { placeHere, withOdin } from '../place.ts';

export interface DashboardCommandOptions {
  readonly port: number;
  readonly host?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly allowQueueActions?: boolean;
}

export async function dashboard(options: DashboardCommandOptions): Promise<number> {
  const { port, host, tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UserError('--tls-cert and --tls-key go together.');
  }
  if (port > 65_535) throw new UserError('A port is a number up to 65535.');
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey };
  beginLean({ manyTasks: false });
  const place = placeHere();
  return await withOdin(place, null, async (odin) => {
    const [{ startDashboard }, { connectRedis }] = await Promise.all([
      import('../../dashboard/server.ts'),
      import('../../orchestrator/redis.ts'),
    ]);
    const { home, redisUrl } = place;
    const redis = await connectRedis({ home, notice: () => {}, ...(redisUrl === undefined ? {} : { redisUrl }) });
    const interrupted = Promise.withResolvers<void>();
    const offInterrupt = onInterrupt(() => interrupted.resolve());
    try {
      const server = await startDashboard({
        ...{ odin, redis, home, port, allowQueueActions: options.allowQueueActions ?? false },
        ...(host === undefined ? {} : { host }),
        ...(tls === undefined ? {} : { tls }),
        onLink: (link) => process.stderr.write(`It was opened. The link for another browser: ${link}\n`),
        onError: (error) => process.stderr.write(`odin: the dashboard reports: ${String(error)}\n`),
      });
      process.stdout.write(`${server.link()}\n`);
      process.stderr.write('This link works once. Ctrl-C stops the dashboard; what runs goes on.\n');
      await interrupted.promise;
      await server.close();
    } finally {
      offInterrupt();
      await redis.close();
    }
    return EXIT.completed;
  });
}
