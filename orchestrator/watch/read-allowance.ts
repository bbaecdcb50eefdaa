// How much a watch may take of the machine and the Redis that it shares with the process that runs the turns: one per cent of a processor
// while that one works, more while it does not. Counted is the processor time of the reading alone, which neither a wait nor other work of
// the process changes; on a machine that is slow, or busy, as much is read as it allows. What somebody sees is read whole, less often.

export interface Allowance {
  /** A pass begins; `isQuiet`: nothing runs or waits that it could delay. */
  begin(isQuiet: boolean): void;
  /** Does a part of the pass, one that does not wait. */
  spend(work: () => void): void;
  /** Whether this pass may read more of what nobody looks at. */
  isLeft(): boolean;
  /** How long to rest after the pass. */
  restMs(): number;
}

/** For each moment of the reading: answers are also made in Redis, taken off the line, thrown away, and told to the pages. */
const OVERHEAD = 3;
/** Parts of one processor. */
const WORKING_SHARE = 0.01;
const QUIET_SHARE = 0.25;
/** The longest rest, in periods. */
const MOST_REST = 7;

export function createAllowance(everyMs: number): Allowance {
  let share = WORKING_SHARE;
  let spentMs = 0;
  return {
    begin(isQuiet) {
      share = isQuiet ? QUIET_SHARE : WORKING_SHARE;
      spentMs = 0;
    },
    spend(work) {
      const before = process.threadCpuUsage();
      work();
      const { user, system } = process.threadCpuUsage(before);
      spentMs += (OVERHEAD * (user + system)) / 1_000;
    },
    isLeft: () => spentMs < everyMs * share,
    restMs: () => Math.min(Math.max(everyMs, spentMs / share - spentMs), MOST_REST * everyMs),
  };
}
