// One streamed model call, the same for every provider: opens the stream under a watchdog, feeds its events to the
// dialect's reader, and tells apart the ways it can end. An answer counts only when the terminal event was seen: both
// SDKs let a stream that merely stops, or is aborted, end like a complete one.

import type { ModelAnswer, Usage } from '../shared/messages.ts';
import { cancelled, type Failure, fail, type Outcome } from '../shared/outcome.ts';
import type { ModelCallOptions } from '../shared/ports.ts';
import { classifyError, scrubKeys, withoutMarkup } from './classify-error.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, type ProviderOptions, QUIET_FACTOR, secretsOf } from './provider-options.ts';
import { type GivenUp, type Limits, type OddAnswer, startWatchdog, type Watchdog } from './stream-watchdog.ts';

/** Collects the events of one answer. */
export interface AnswerReader<Event> {
  /** Takes one event in. True from the event on that completes the answer. */
  accept(event: Event): boolean;
  /** False for an event that only keeps the line open. Absent: every event says something. */
  says?(event: Event): boolean;
  /** True when something of use may follow that event: chat completions tell the usage last. */
  readonly readsOn?: boolean;
  answer(): Outcome<ModelAnswer>;
  /** What was counted so far; null: nothing yet. */
  usage(): Usage | null;
}

type Failed = { readonly ok: false; readonly failure: Failure };

/** What is left of a provider's last answer; the next call waits for it, so that it finds the connection free. */
const endings = new WeakMap<ProviderOptions, Promise<void>>();

/** Never throws but with what `ready` rejects with, never retries. `open` sends the request with the watchdog's fetch and signal. */
export async function runStream<Event>(
  options: ProviderOptions,
  call: ModelCallOptions,
  open: (watchdog: Watchdog) => Promise<AsyncIterable<Event>>,
  reader: AnswerReader<Event>,
): Promise<Outcome<ModelAnswer>> {
  const clear = Promise.all([endings.get(options), call.ready]);
  clear.catch(() => {});
  const outcome = await readStream(options, call, open, reader, clear);
  // What was not let go has not failed: it was never sent.
  await clear;
  const spent = outcome.ok ? null : reader.usage();
  if (spent !== null) call.onUsage?.(spent);
  return outcome;
}

async function readStream<Event>(
  options: ProviderOptions,
  { signal, timeoutMs }: ModelCallOptions,
  open: (watchdog: Watchdog) => Promise<AsyncIterable<Event>>,
  reader: AnswerReader<Event>,
  clear: Promise<unknown>,
): Promise<Outcome<ModelAnswer>> {
  if (signal.aborted) return cancelled();
  const limits = limitsOf(options, timeoutMs);
  const watchdog = startWatchdog(signal, limits, clear);
  const context = { provider: options.name, secrets: secretsOf(options) };
  let streaming = false;
  let complete = false;
  let thrown: unknown;
  try {
    const events = (await open(watchdog))[Symbol.asyncIterator]();
    streaming = true;
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (reader.says?.(next.value) ?? true) watchdog.said();
      if (!reader.accept(next.value)) continue;
      if (!complete) watchdog.expectEnd();
      complete = true;
      if (reader.readsOn) continue;
      endings.set(options, readToEnd(events, watchdog));
      return answerOf(options, reader);
    }
  } catch (error) {
    thrown = error;
  }
  watchdog.close();
  if (complete) return answerOf(options, reader);
  if (signal.aborted) return cancelled();
  const gaveUp = watchdog.gaveUp();
  if (gaveUp !== null) return timedOut(options, gaveUp, limits);
  const odd = watchdog.odd();
  if (odd !== null) return notAStream(odd, context);
  if (thrown !== undefined) return classifyError(thrown, { ...context, streaming });
  return fail('transient', 'cut_stream', `${options.name} ended the answer before it was complete.`);
}

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

function limitsOf(options: ProviderOptions, timeoutMs: number | undefined): Limits {
  const idleMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  const silence = { idleMs, quietMs: options.quietTimeoutMs ?? QUIET_FACTOR * idleMs };
  return timeoutMs === undefined ? silence : { ...silence, totalMs: timeoutMs };
}

/** A server that leaves out what its API promises is no fault of Odin's. */
function answerOf({ name }: ProviderOptions, reader: AnswerReader<never>): Outcome<ModelAnswer> {
  try {
    return reader.answer();
  } catch (error) {
    return fail('failed', 'bad_response', `${name} sent an answer that cannot be read: ${(error as Error).message}`);
  }
}

function timedOut({ name }: ProviderOptions, gaveUp: GivenUp, limits: Limits): Failed {
  switch (gaveUp) {
    case 'idle':
      return fail('transient', 'stalled_stream', `${name} sent nothing for ${inWords(limits.idleMs)}.`);
    case 'quiet':
      return fail(
        'transient',
        'stalled_stream',
        `${name} kept the line open for ${inWords(limits.quietMs)} without a word of the answer.`,
      );
    case 'total':
      return fail(
        'failed',
        'step_timeout',
        `${name} was not done with its answer after ${inWords(limits.totalMs ?? 0)}. A longer stepTimeoutMs in the settings waits longer.`,
      );
  }
}

const inWords = (ms: number): string => (ms >= 300_000 ? `${Math.round(ms / 60_000)} min` : `${ms / 1000} s`);

/** Some servers tell an error in a body with a good status. */
function notAStream({ type, text }: OddAnswer, context: { provider: string; secrets: readonly string[] }): Failed {
  const error = errorIn(text);
  if (error !== null) return classifyError({ error, headers: new Headers() }, { ...context, streaming: false });
  const said = scrubKeys(withoutMarkup(text), context.secrets).slice(0, 200);
  return fail(
    'failed',
    'bad_response',
    `${context.provider} answered with ${type} instead of a stream: ${said} Is the base URL right, and is there no proxy with a page of its own in between?`,
  );
}

function errorIn(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && 'error' in body ? body.error : null;
  } catch {
    return null;
  }
}
