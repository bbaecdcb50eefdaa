// So many at a time, first come first served.

export interface Slots {
  /** Resolves when there is room, with what gives it back; null when the signal aborts before. */
  take(signal: AbortSignal): Promise<(() => void) | null>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;
  const giveBack = () => {
    free += 1;
    waiting.shift()?.();
  };
  return {
    async take(signal) {
      while (free === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
        await promise;
        const at = waiting.indexOf(resolve);
        if (at >= 0) waiting.splice(at, 1);
        if (signal.aborted) {
          // The turn that it may have been given goes on to the next.
          if (free > 0) waiting.shift()?.();
          return null;
        }
      }
      if (signal.aborted) return null;
      free -= 1;
      return giveBack;
    },
  };
}
