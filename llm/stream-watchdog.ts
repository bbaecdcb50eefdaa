// Ends a stream that went silent. The SDKs' own time-outs stop at the response's headers, and they hide the pings that
// tell a thinking model from a dead line, so the raw chunks are watched here, under the SDK, through its `fetch` option.
// A body that the SDK stops reading early (after "[DONE]") is read to its end: only then is the connection reusable, and
// only from the next turn of the event loop on: a call made sooner would open a second connection.

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextLoop } from 'node:timers/promises';

export interface Watchdog {
  /** Aborts when the caller aborts, and when the line stayed silent too long. */
  readonly signal: AbortSignal;
  /** What is fetched during `work` is watched by this watchdog. */
  run<T>(work: () => T): T;
  stalled(): boolean;
  /** The answer is complete; the rest of the body gets two seconds. */
  expectEnd(): void;
  close(): void;
}

const END_TIMEOUT_MS = 2_000;

/** The watchdog of the call that is being made: a client serves many calls, and making one anew for each is dear. */
const current = new AsyncLocalStorage<typeof globalThis.fetch>();

/** For the SDK: the global fetch, with every chunk noted by the watchdog of the call. */
export const watchedFetch: typeof globalThis.fetch = (input, init) =>
  (current.getStore() ?? globalThis.fetch)(input, init);

export function startWatchdog(caller: AbortSignal, idleTimeoutMs: number): Watchdog {
  const own = new AbortController();
  const signal = AbortSignal.any([caller, own.signal]);
  let timer = setTimeout(() => own.abort(), idleTimeoutMs);

  const ownFetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    timer.refresh();
    if (response.body === null) return response;
    return new Response(
      watchedBody(response.body, signal, () => timer.refresh()),
      response,
    );
  };

  return {
    signal,
    run: (work) => current.run(ownFetch, work),
    stalled: () => own.signal.aborted && !caller.aborted,
    expectEnd() {
      clearTimeout(timer);
      timer = setTimeout(() => own.abort(), END_TIMEOUT_MS);
    },
    close: () => clearTimeout(timer),
  };
}

function watchedBody(body: ReadableStream<Uint8Array>, signal: AbortSignal, onChunk: () => void) {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        onChunk();
        if (!done) return controller.enqueue(value);
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
