// One streamed model call, the same for every provider: opens the stream under a watchdog, feeds its events to the
// dialect's reader, and tells apart the ways it can end. An answer counts only when the terminal event was seen: both
// SDKs let a stream that merely stops, or is aborted, end like a complete one.

import type { ModelAnswer } from '../shared/messages.ts';
import { cancelled, fail, type Outcome } from '../shared/outcome.ts';
import type { ModelCallOptions } from '../shared/ports.ts';
import { classifyError } from './classify-error.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, type ProviderOptions, secretsOf } from './provider-options.ts';
import { startWatchdog, type Watchdog } from './stream-watchdog.ts';

/** Collects the events of one answer. */
export interface AnswerReader<Event> {
  /** Takes one event in. True from the event on that completes the answer. */
  accept(event: Event): boolean;
  /** True when something of use may follow that event: chat completions tell the usage last. */
  readonly readsOn?: boolean;
  answer(): Outcome<ModelAnswer>;
}

/** What is left of a provider's last answer; the next call waits for it, so that it finds the connection free. */
const endings = new WeakMap<ProviderOptions, Promise<void>>();

/** After the terminal event: the rest of the body, which takes at most the watchdog's two seconds. */
async function readToEnd(events: AsyncIterator<unknown>, watchdog: Watchdog): Promise<void> {
  try {
    while (!(await events.next()).done);
  } catch {
    // The line was cut after the answer: the connection is gone, the answer is not.
  } finally {
    watchdog.close();
  }
}

/** Never throws but with what `ready` rejects with, never retries. `open` sends the request with the watchdog's fetch and signal. */
export async function runStream<Event>(
  options: ProviderOptions,
  { signal, ready }: ModelCallOptions,
  open: (watchdog: Watchdog) => Promise<AsyncIterable<Event>>,
  reader: AnswerReader<Event>,
): Promise<Outcome<ModelAnswer>> {
  await Promise.all([endings.get(options), ready]);
  if (signal.aborted) return cancelled();
  const idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  const watchdog = startWatchdog(signal, idleTimeoutMs);
  let streaming = false;
  let complete = false;
  let thrown: unknown;
  try {
    const events = (await open(watchdog))[Symbol.asyncIterator]();
    streaming = true;
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (!reader.accept(next.value)) continue;
      if (!complete) watchdog.expectEnd();
      complete = true;
      if (reader.readsOn) continue;
      endings.set(options, readToEnd(events, watchdog));
      return reader.answer();
    }
  } catch (error) {
    thrown = error;
  }
  watchdog.close();
  if (complete) return reader.answer();
  if (signal.aborted) return cancelled();
  if (watchdog.stalled()) {
    return fail('transient', 'stalled_stream', `${options.name} sent nothing for ${idleTimeoutMs / 1000} s.`);
  }
  if (thrown !== undefined) {
    return classifyError(thrown, { provider: options.name, secrets: secretsOf(options), streaming });
  }
  return fail('transient', 'cut_stream', `${options.name} ended the answer before it was complete.`);
}
