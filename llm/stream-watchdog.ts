// Ends a stream that went silent, that says nothing, or that takes too long (SPEC E9, E11). The SDKs' own time-outs stop at the
// response's headers, and they hide the pings that tell a thinking model from a dead line, so the raw chunks are watched here, under
// the SDK, through its `fetch` option. A body that the SDK stops reading early (after "[DONE]") is read to its end: only then is the
// connection reusable, and only from the next turn of the event loop on: a call made sooner would open a second connection.

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextLoop } from 'node:timers/promises';

export interface Limits {
  /** No byte for so long. */
  readonly idleMs: number;
  /** No word of the answer for so long, however alive the line is. */
  readonly quietMs: number;
  /** The whole answer; absent: no limit. */
  readonly totalMs?: number;
}

export type GivenUp = 'idle' | 'quiet' | 'total';

/** What came with a good status and is no stream of events. */
export interface OddAnswer {
  readonly type: string;
  /** Its first few thousand characters. */
  readonly text: string;
}

export interface Watchdog {
  /** Aborts when the caller aborts, and when a limit is reached. */
  readonly signal: AbortSignal;
  /** What is fetched during `work` is watched by this watchdog, from the moment it leaves. */
  run<T>(work: () => T): T;
  /** Part of the answer has come. */
  said(): void;
  /** The limit that ended it; null when none did. */
  gaveUp(): GivenUp | null;
  odd(): OddAnswer | null;
  /** The answer is complete; the rest of the body gets two seconds. */
  expectEnd(): void;
  close(): void;
}

const END_TIMEOUT_MS = 2_000;
const ODD_CHARS = 4_096;

/** The watchdog of the call that is being made: a client serves many calls, and making one anew for each is dear. */
const current = new AsyncLocalStorage<typeof globalThis.fetch>();

/**
 * A key and a conversation go to the address that was set and nowhere else; fetch itself would take most keys' headers along. A request that
 * cannot be redirected is also not kept a second time while its answer is awaited.
 */
const STAYS = { redirect: 'error', window: null } as const;

/** For the SDK: the global fetch, with every chunk noted by the watchdog of the call. */
export const watchedFetch: typeof globalThis.fetch = (input, init) =>
  (current.getStore() ?? globalThis.fetch)(input, { ...init, ...STAYS });

/** `clear`: when a request may leave. The SDK makes it ready meanwhile, and time counts from then on. */
export function startWatchdog(caller: AbortSignal, limits: Limits, clear: Promise<unknown>): Watchdog {
  const own = new AbortController();
  const signal = AbortSignal.any([caller, own.signal]);
  let gaveUp: GivenUp | null = null;
  let odd: OddAnswer | null = null;
  let idle: NodeJS.Timeout | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;
  const after = (ms: number, why: GivenUp | null) =>
    setTimeout(() => {
      gaveUp ??= why;
      own.abort();
    }, ms);
  const start = () => {
    idle = after(limits.idleMs, 'idle');
    quiet = after(limits.quietMs, 'quiet');
    total = limits.totalMs === undefined ? undefined : after(limits.totalMs, 'total');
  };
  const close = () => {
    clearTimeout(idle);
    clearTimeout(quiet);
    clearTimeout(total);
  };
  const onChunk = () => void idle?.refresh();

  const ownFetch: typeof globalThis.fetch = async (input, init) => {
    await clear;
    signal.throwIfAborted();
    start();
    const response = await globalThis.fetch(input, init);
    onChunk();
    if (response.body === null) return response;
    const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    if (response.ok && type === 'text/event-stream')
      return withBody(response, watchedEvents(response.body, signal, onChunk));
    const body = watchedBody(response.body, signal, onChunk);
    // A page of a proxy, or an answer that is not streamed: the SDKs would wait for events in it and find none.
    if (response.ok && (type === 'text/html' || type === 'application/json')) {
      odd = { type, text: await startOf(body) };
      throw new Error(`The answer was ${type}.`);
    }
    return new Response(body, response);
  };

  return {
    signal,
    run: (work) => current.run(ownFetch, work),
    said: () => void quiet?.refresh(),
    gaveUp: () => (caller.aborted ? null : gaveUp),
    odd: () => odd,
    expectEnd() {
      close();
      idle = after(END_TIMEOUT_MS, null);
    },
    close,
  };
}

async function startOf(body: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.length >= ODD_CHARS) break;
  }
  return text.slice(0, ODD_CHARS);
}

/** The SDKs iterate over the body of a stream: for each chunk this is much less work than a stream around the stream. */
const withBody = (response: Response, body: AsyncIterable<Uint8Array>): Response =>
  Object.defineProperty(response, 'body', { value: body });

async function* watchedEvents(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      onChunk();
      if (done) break;
      yield value;
    }
    isDone = true;
    await nextLoop();
  } finally {
    if (!isDone) await (signal.aborted ? reader.cancel().catch(() => {}) : drain(reader));
  }
}

function watchedBody(body: ReadableStream<Uint8Array>, signal: AbortSignal, onChunk: () => void) {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        onChunk();
        if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>);
        await nextLoop();
        controller.close();
      },
      cancel: (reason) => (signal.aborted ? reader.cancel(reason) : drain(reader)),
    },
    { highWaterMark: 0 },
  );
}

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
    await nextLoop();
  } catch {
    // The line was cut, or the two seconds were over: the connection is gone, the answer is not.
  }
}
