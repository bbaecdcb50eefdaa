// A proxy on a unix socket that loses replies: when a command that contains the marker passes, it reaches Redis,
// and the connection breaks before the answer gets back. What a network does, on demand.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export interface LossyProxy {
  readonly url: string;
  /** Loses the reply of the next command that contains the text. */
  loseReplyOf(marker: string): void;
  /** How many replies were lost. */
  readonly lost: number;
  close(): Promise<void>;
}

export async function startLossyProxy(socketPath: string, target: string): Promise<LossyProxy> {
  let marker: string | null = null;
  let lost = 0;
  const server = createServer((client) => {
    const redis = connect(target);
    let cut = false;
    for (const socket of [client, redis]) socket.on('error', () => {});
    client.on('data', (data) => {
      if (marker !== null && data.includes(marker)) {
        marker = null;
        cut = true;
        lost += 1;
      }
      redis.write(data);
    });
    redis.on('data', (data) => {
      if (cut) client.destroy();
      else client.write(data);
    });
    client.on('close', () => redis.destroy());
    redis.on('close', () => client.destroy());
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    url: `unix://${socketPath}`,
    loseReplyOf(text) {
      marker = text;
    },
    get lost() {
      return lost;
    },
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}
