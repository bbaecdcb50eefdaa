// Hooks that only watch (SPEC E5): called behind the message's back, in order for each hook, never waited for while it runs. A hook that
// cannot keep up misses events and that is counted; one that fails is reported.

import { setImmediate } from 'node:timers';
import { askHook } from './ask-hook.ts';
import type { Hook, HookEvent, HookGiven } from './hook.ts';
import type { HookNews } from './judge-call.ts';

const MAX_WAITING = 256;
/** The same failure over and over is told this often. */
const MAX_TOLD = 3;
/** What a message waits for its watchers at its end. */
const DRAIN_MS = 10_000;

export interface Observers {
  /** Whether anybody watches this. */
  watch(event: HookEvent): boolean;
  observe(given: HookGiven): void;
  /** Waits for what is under way, for a while. */
  drained(signal: AbortSignal): Promise<void>;
}

interface Watcher {
  readonly hook: Hook;
  readonly waiting: HookGiven[];
  running: Promise<void> | null;
  missed: number;
  failed: number;
}

export function createObservers(hooks: readonly Hook[], tell: (event: HookEvent, news: HookNews) => void): Observers {
  const watchers = hooks.map((hook): Watcher => ({ hook, waiting: [], running: null, missed: 0, failed: 0 }));
  const stop = new AbortController();

  const run = async (watcher: Watcher): Promise<void> => {
    // Whoever caused the event goes on first.
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let given = watcher.waiting.shift(); given; given = watcher.waiting.shift()) {
      const asked = await askHook(watcher.hook, given, stop.signal);
      if (asked.kind === 'cancelled') watcher.missed += 1;
      if (asked.kind !== 'failed') continue;
      watcher.failed += 1;
      if (watcher.failed > MAX_TOLD) continue;
      const { message, durationMs } = asked;
      tell(given.event, { hook: watcher.hook.name, outcome: 'failed', message, durationMs });
    }
    watcher.running = null;
  };

  const sumUp = ({ hook, missed, failed }: Watcher): void => {
    const told = { hook: hook.name, outcome: 'failed', durationMs: 0 } as const;
    const event = Object.keys(hook).find((name): name is HookEvent => name in WATCHED) ?? 'stepStart';
    if (missed > 0) tell(event, { ...told, message: `it was too slow and missed ${missed} events` });
    if (failed > MAX_TOLD) tell(event, { ...told, message: `it failed ${failed} times in all` });
  };

  return {
    watch: (event) => hooks.some((hook) => hook[event] !== undefined),
    observe(given) {
      for (const watcher of watchers) {
        if (watcher.hook[given.event] === undefined) continue;
        if (watcher.waiting.length >= MAX_WAITING) {
          watcher.missed += 1;
          continue;
        }
        watcher.waiting.push(given);
        watcher.running ??= run(watcher);
      }
    },
    async drained(signal) {
      const giveUp = () => stop.abort();
      const timer = setTimeout(giveUp, DRAIN_MS);
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
      await Promise.all(watchers.map(async ({ running }) => await running));
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      for (const watcher of watchers) sumUp(watcher);
    },
  };
}

const WATCHED = { stepStart: 1, afterLLM: 1, summarize: 1, historyChanged: 1, streamDelta: 1 };
