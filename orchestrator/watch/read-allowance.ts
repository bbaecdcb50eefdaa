// How much of its machine, and of the Redis that it shares, a watch may take: a few per cent of one processor while others need them all,
// more while one has nothing to do. Counted is the processor time of the reading alone, which neither a wait nor other work of the process
// changes; on a machine that is slow, or busy, as much is read as it allows.

import { cpus } from 'node:os';

export interface Allowance {
  /** A pass begins. */
  begin(): void;
  /** Does a part of the pass, one that does not wait. */
  spend(work: () => void): void;
  /** Whether this pass may read what nobody looks at. */
  isLeft(): boolean;
  /** How long to rest after the pass. */
  restMs(): number;
}

/** For each moment of the reading: answers are also made in Redis, taken off the line, thrown away, and told to the pages. */
const OVERHEAD = 2.5;
/** Parts of one processor: while all are busy, and while one is not. */
const BUSY_SHARE = 0.03;
const IDLE_SHARE = 0.15;
/** A processor that does nothing for so much of the time is one to spare. */
const SPARE = 0.7;
const MOST_REST_MS = 2_000;
/** Asking takes a moment too, where there are many processors. */
const LOOK_MS = 2_000;

export function createAllowance(everyMs: number): Allowance {
  const spare = spareProcessors();
  let share = BUSY_SHARE;
  let spentMs = 0;
  return {
    begin() {
      share = spare() >= SPARE ? IDLE_SHARE : BUSY_SHARE;
      spentMs = 0;
    },
    spend(work) {
      const before = process.threadCpuUsage();
      work();
      const { user, system } = process.threadCpuUsage(before);
      spentMs += (OVERHEAD * (user + system)) / 1_000;
    },
    isLeft: () => spentMs < everyMs * share,
    restMs: () => Math.min(Math.max(everyMs, spentMs / share - spentMs), MOST_REST_MS),
  };
}

/** How many processors had nothing to do in the last seconds. */
function spareProcessors(): () => number {
  let before = { idle: 0, all: 0 };
  let at = Number.NEGATIVE_INFINITY;
  let spare = 0;
  return () => {
    if (performance.now() - at < LOOK_MS) return spare;
    at = performance.now();
    const times = cpus().map((cpu) => cpu.times);
    const idle = times.reduce((sum, one) => sum + one.idle, 0);
    const all = times.reduce((sum, one) => sum + one.idle + one.user + one.nice + one.sys + one.irq, 0);
    const part = all > before.all ? (idle - before.idle) / (all - before.all) : 0;
    before = { idle, all };
    spare = part * times.length;
    return spare;
  };
}
