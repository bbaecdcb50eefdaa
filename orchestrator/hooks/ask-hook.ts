// Calls one function of one hook: with its time limit, its signal, and whatever it throws as a value.

import type { Hook, HookAnswer, HookEvent, HookGiven } from './hook.ts';
import { HOOK_TIMEOUT_MS } from './hook.ts';

export type Asked<E extends HookEvent> = { readonly durationMs: number } & (
  | { readonly kind: 'answered'; readonly answer: HookAnswer<E> | null }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'cancelled' }
);

/** What a hook that was told to stop gets for cleaning up, its processes for instance. */
const GRACE_MS = 2_500;

export async function askHook<E extends HookEvent>(
  hook: Hook,
  given: HookGiven<E>,
  signal: AbortSignal,
): Promise<Asked<E>> {
  if (signal.aborted) return { kind: 'cancelled', durationMs: 0 };
  const startedAt = performance.now();
  const timeoutMs = hook.timeoutMs ?? HOOK_TIMEOUT_MS;
  const stop = new AbortController();
  const givenUp = Promise.withResolvers<'given up'>();
  const ending: { why: 'cancelled' | 'timeout' | null } = { why: null };
  let grace: NodeJS.Timeout | undefined;
  const end = (why: 'cancelled' | 'timeout') => {
    if (ending.why !== null) return;
    ending.why = why;
    stop.abort();
    grace = setTimeout(() => givenUp.resolve('given up'), GRACE_MS);
  };
  const cancel = () => end('cancelled');
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  signal.addEventListener('abort', cancel, { once: true });
  const ended = (): Asked<E> => {
    const durationMs = Math.round(performance.now() - startedAt);
    if (ending.why === 'cancelled') return { kind: 'cancelled', durationMs };
    return { kind: 'failed', message: `it was not through within ${timeoutMs / 1000} s`, durationMs };
  };
  try {
    const call = hook[given.event] as ((given: HookGiven<E>, signal: AbortSignal) => unknown) | undefined;
    const answer = await Promise.race([
      Promise.resolve().then(() => call?.call(hook, given, stop.signal)),
      givenUp.promise,
    ]);
    if (ending.why !== null) return ended();
    const durationMs = Math.round(performance.now() - startedAt);
    return { kind: 'answered', answer: (answer ?? null) as HookAnswer<E> | null, durationMs };
  } catch (error) {
    if (ending.why !== null) return ended();
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', message, durationMs: Math.round(performance.now() - startedAt) };
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal.removeEventListener('abort', cancel);
  }
}
