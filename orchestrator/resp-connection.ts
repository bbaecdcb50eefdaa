// A connection to a Redis on a unix socket with the few bytes of protocol that redis-server.ts needs, so that a private server
// can be started, counted and stopped before (and without) loading ioredis. It does not reconnect.

import { once } from 'node:events';
import { connect } from 'node:net';

export class RespError extends Error {
  override readonly name = 'RespError';
  /** Redis' own word for it, the first of the line: LOADING, NOAUTH, ERR. */
  readonly code: string;
  constructor(line: string) {
    super(line);
    this.code = line.split(' ', 1)[0] ?? '';
  }
}

export interface RespConnection {
  /** Sends a command; several calls in one go travel together. Replies that are arrays are not understood. */
  call(...args: string[]): Promise<string>;
  /** Resolves when the connection is gone, for whatever reason. */
  readonly closed: Promise<void>;
  close(): void;
}

interface Waiter {
  resolve(reply: string): void;
  reject(error: Error): void;
}

/** Connects, or rejects with the system's error (ENOENT, ECONNREFUSED). An idle connection does not keep the process running. */
export async function connectResp(socketPath: string): Promise<RespConnection> {
  const socket = connect({ path: socketPath });
  await once(socket, 'connect');
  const waiters: Waiter[] = [];
  let received = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    for (let reply = parse(received); reply !== null; reply = parse(received)) {
      received = received.subarray(reply.bytes);
      const waiter = waiters.shift();
      if (reply.error) waiter?.reject(new RespError(reply.text));
      else waiter?.resolve(reply.text);
    }
    if (waiters.length === 0) socket.unref();
  });
  const closed = once(socket, 'close').then(
    () => {},
    () => {},
  );
  void closed.then(() => {
    for (const waiter of waiters.splice(0)) waiter.reject(new Error('Redis closed the connection.'));
  });
  socket.unref();
  return {
    closed,
    call(...args) {
      const answer = Promise.withResolvers<string>();
      if (socket.destroyed || !socket.writable) answer.reject(new Error('Redis closed the connection.'));
      else {
        socket.ref();
        waiters.push(answer);
        socket.write(`*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`);
      }
      return answer.promise;
    },
    close: () => void socket.destroy(),
  };
}

/** The first whole reply in the buffer, or null when more must come. */
function parse(buffer: Buffer): { text: string; error: boolean; bytes: number } | null {
  const end = buffer.indexOf('\r\n');
  if (end === -1) return null;
  const line = buffer.toString('utf8', 1, end);
  if (buffer[0] !== 0x24) return { text: line, error: buffer[0] === 0x2d, bytes: end + 2 };
  const length = Math.max(0, Number(line));
  const total = line === '-1' ? end + 2 : end + 2 + length + 2;
  if (buffer.length < total) return null;
  return { text: buffer.toString('utf8', end + 2, end + 2 + length), error: false, bytes: total };
}
