// What one round of netns.ts came to, and what the rounds say together.

import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import type { Island } from '../support/netns.ts';
import { STEPS, type Trace } from '../support/netns-steps.ts';

/** Where a round is played. */
export interface Stage {
  readonly folder: string;
  readonly island: Island;
  readonly redisUrl: string;
  /** The models inside and outside. */
  readonly models: { readonly inside: string; readonly outside: string };
}

export interface CutPlan {
  readonly name: string;
  /** The link is cut so long after this step has begun. */
  readonly atStep: number;
  readonly afterMs: number;
  /** The command of that step would go on for half a minute. */
  readonly isLong: boolean;
  /** The link stays down until somebody else has taken over, and `CUT_MS` at least; else exactly so long. */
  readonly untilTakenOver: boolean;
}

export interface Round {
  readonly plan: CutPlan;
  /** By the clock of this machine, in milliseconds. */
  readonly cutAt: number;
  readonly mendedAt: number;
  /** When another process had the work by what Redis says; null: nobody took over. */
  readonly takenAt: number | null;
  readonly traces: readonly Trace[];
  /** The steps whose effects count in the end. */
  readonly kept: readonly Trace[];
  /** How often the message, or the task, ended; and whether it was completed. */
  readonly ends: number;
  readonly completed: boolean;
  /** What else is wrong. */
  readonly findings: readonly string[];
}

export const CUT_MS = 12_000;

/** Nothing in a round may take longer. */
export const PATIENCE_MS = 90_000;

/** Cuts as the plan says, and mends. `taken` tells since when somebody else has the work, or null. */
export async function cut(
  { island }: Stage,
  plan: CutPlan,
  taken: () => Promise<number | null>,
): Promise<Pick<Round, 'cutAt' | 'mendedAt'>> {
  await delay(plan.afterMs);
  const cutAt = Date.now();
  island.cut();
  try {
    await delay(CUT_MS);
    if (plan.untilTakenOver) await atLast(async () => (await taken()) !== null);
  } finally {
    island.mend();
  }
  return { cutAt, mendedAt: Date.now() };
}

/** Whether it came to hold in time. */
export async function atLast(holds: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<boolean> {
  const until = performance.now() + patienceMs;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() > until) return false;
    await delay(20);
  }
}

/** Milliseconds in which both had effects. */
export function overlapOf({ traces }: Round): number {
  const of = (who: Trace['who']) => traces.filter((trace) => trace.who === who).map(({ atMs }) => atMs);
  const outside = of('outside');
  return outside.length === 0 ? 0 : Math.max(0, Math.max(0, ...of('inside')) - Math.min(...outside));
}

/** From the last effect of who was cut off until another took over; null when nobody did. */
export function marginOf({ traces, cutAt, takenAt }: Round): number | null {
  if (takenAt === null) return null;
  const inside = traces.filter(({ who }) => who === 'inside').map(({ atMs }) => atMs);
  return takenAt - Math.max(cutAt, ...inside);
}

/** How long who was cut off had effects. */
const wentOnFor = ({ traces, cutAt }: Round): number =>
  Math.max(0, ...traces.filter(({ who }) => who === 'inside').map(({ atMs }) => atMs - cutAt));

const startsOf = ({ kept }: Round, step: number): number =>
  kept.filter((trace) => trace.what === 'start' && trace.step === step).length;

const each = (round: Round, count: (starts: number) => number): number =>
  Array.from({ length: STEPS }, (_, step) => count(startsOf(round, step))).reduce((sum, n) => sum + n, 0);

/** The self-fence comes 3 s before a takeover; a machine under load may eat some of that. */
const MARGIN_MS = 1_000;

export function goalsOf(rounds: readonly Round[]): readonly Goal[] {
  const sum = (of: (round: Round) => number) => rounds.reduce((all, round) => all + of(round), 0);
  const taken = rounds.filter(({ takenAt }) => takenAt !== null);
  const rash = taken.filter((round) => (marginOf(round) ?? 0) < MARGIN_MS);
  return [
    atMost(
      'effects that began twice',
      sum((round) => each(round, (n) => Math.max(0, n - 1))),
      0,
      'effects',
    ),
    atMost(
      'effects that never began',
      sum((round) => each(round, (n) => (n === 0 ? 1 : 0))),
      0,
      'effects',
    ),
    atMost('effects of both at a time', Math.round(sum(overlapOf)), 0, 'ms'),
    atMost(
      'did not end exactly once',
      sum(({ ends, completed }) => (ends === 1 && completed ? 0 : 1)),
      0,
      'rounds',
    ),
    atMost(`stopped less than ${MARGIN_MS / 1000} s before another took over`, rash.length, 0, 'rounds'),
    atMost('without a takeover', rounds.filter((r) => r.plan.untilTakenOver && r.takenAt === null).length, 0, 'rounds'),
    atMost(
      'other findings',
      sum(({ findings }) => findings.length),
      0,
      'findings',
    ),
  ];
}

export function noteOf(round: Round): string {
  const { plan, cutAt, mendedAt, takenAt, findings } = round;
  const after = (at: number) => `${((at - cutAt) / 1000).toFixed(1)} s`;
  const margin = marginOf(round);
  const what = plan.isLong ? 'in the middle of a command of 30 s' : 'between short commands';
  const taken =
    takenAt === null || margin === null
      ? 'nobody else took over'
      : `another took over after ${after(takenAt)}, ${(margin / 1000).toFixed(1)} s after its last effect`;
  const found = findings.map((finding) => `; ${finding}`).join('');
  return `${plan.name}: cut off for ${after(mendedAt)} ${what}; it had effects for ${(wentOnFor(round) / 1000).toFixed(1)} s more, ${taken}${found}`;
}
