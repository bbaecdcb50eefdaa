// A server on a TCP port that answers every Redis command the same way: for servers that are too old or of another kind,
// which cannot be installed for a test.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export async function startFakeRedis(info: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const command of data.toString('utf8').matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        socket.write(command[1] === 'info' ? `$${Buffer.byteLength(info)}\r\n${info}\r\n` : '+OK\r\n');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}
