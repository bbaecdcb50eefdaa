// One reader's server-sent events: whole messages, in order, never more of them in memory than the reader's line takes away. What waits
// while it does not is the feed's to hold back.

import type { FastifyReply, FastifyRequest } from 'fastify';

export interface EventStream {
  /** Aborts when the reader is gone or the server closes. */
  readonly signal: AbortSignal;
  /** `id` is what the reader gives back when it comes again, `json` the data's own text. Resolves when there is room for more. */
  send(
    event: { readonly type: string; readonly id?: string } & ({ readonly data: unknown } | { readonly json: string }),
  ): Promise<void>;
}

/** Readers at once, of one server. Each session that is followed takes a connection to Redis. */
const MOST = 48;
const ALIVE_MS = 15_000;

export interface EventStreams {
  /** Serves a reader for as long as `feed` has something for it. */
  serve(
    request: FastifyRequest,
    reply: FastifyReply,
    feed: (stream: EventStream, lastId: string | null) => Promise<void>,
  ): Promise<void>;
  /** Sends every reader away. */
  close(): void;
}

export function createEventStreams(onError: (error: unknown) => void): EventStreams {
  const closing = new AbortController();
  let open = 0;
  return {
    close: () => closing.abort(),
    async serve(request, reply, feed) {
      if (open >= MOST) {
        await reply
          .code(503)
          .header('retry-after', '10')
          .send({ error: `${MOST} readers are connected, the most.` });
        return;
      }
      open += 1;
      const gone = new AbortController();
      const signal = AbortSignal.any([gone.signal, closing.signal]);
      const headers = Object.fromEntries(
        Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]),
      );
      reply.hijack();
      const { raw } = reply;
      raw.on('close', () => gone.abort());
      raw.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
      raw.flushHeaders();
      const alive = setInterval(() => raw.write(': alive\n\n'), ALIVE_MS).unref();
      const write = async (text: string): Promise<void> => {
        if (signal.aborted || raw.write(text)) return;
        await new Promise<void>((resolve) => {
          const done = () => {
            raw.off('drain', done);
            signal.removeEventListener('abort', done);
            resolve();
          };
          raw.on('drain', done);
          signal.addEventListener('abort', done);
        });
      };
      const lastId = request.headers['last-event-id'];
      try {
        await feed(
          {
            signal,
            send: ({ type, id, ...event }) => {
              const json = 'json' in event ? event.json : JSON.stringify(event.data);
              return write(`event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}data: ${json}\n\n`);
            },
          },
          typeof lastId === 'string' && lastId !== '' ? lastId : null,
        );
      } catch (error) {
        if (!signal.aborted) onError(error);
      } finally {
        clearInterval(alive);
        open -= 1;
        raw.end();
      }
    },
  };
}
