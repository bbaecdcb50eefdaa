// What every crash script gives back and how it is printed (ARCHITECTURE 11). A figure that a run could not take is null with
// its reason in its goal, and then `met` is false.

import { atMost, type Goal } from '../../bench/report.ts';
import { type KillResult, quantile } from '../support/kill-owner.ts';

export interface CrashReport {
  readonly name: string;
  readonly seed: number;
  readonly kills: number;
  readonly lost: number;
  readonly doubled: number;
  readonly misordered: number;
  readonly unknown: number;
  readonly resumeMs: { readonly p50: number; readonly p95: number } | null;
  readonly goals: readonly Goal[];
  readonly met: boolean;
}

/** A new process, its imports and the operation that was open. */
export const RESUME_P95_MS = 500;

/** `asked`: the kills that were wanted. `more`: goals of this script alone. `resumeP95Ms`: null when its resumes have no goal. */
export function crashReport(
  name: string,
  seed: number,
  asked: number,
  result: KillResult,
  more: readonly Goal[] = [],
  resumeP95Ms: number | null = RESUME_P95_MS,
): CrashReport {
  const { kills, lost, doubled, misordered, unknown } = result;
  const [p50, p95] = [quantile(result.resumeMs, 0.5), quantile(result.resumeMs, 0.95)];
  const resumeMs = p50 === null || p95 === null ? null : { p50: Math.round(p50), p95: Math.round(p95) };
  const goals = [
    atMost('kills that were not made', Math.max(0, asked - kills), 0, 'kills'),
    atMost('lost', lost, 0, 'operations'),
    atMost('done twice', doubled, 0, 'operations'),
    atMost('out of order', misordered, 0, 'operations'),
    atMost('outcome unknown', unknown, 0, 'operations'),
    ...resumeGoals(resumeMs, resumeP95Ms),
    ...more,
  ];
  const met = goals.every((goal) => goal.met);
  return { name, seed, kills, lost, doubled, misordered, unknown, resumeMs, goals, met };
}

export function printCrash(crash: CrashReport, write: (line: string) => void): void {
  const { p50 = '-', p95 = '-' } = crash.resumeMs ?? {};
  write(`crash ${crash.name}, seed ${crash.seed}: ${crash.kills} kills, resumed in ${p50} ms (p50), ${p95} ms (p95)`);
  writeGoals(crash.goals, write);
}

/** Of a script that counts no operations. */
export interface GoalReport {
  readonly name: string;
  readonly seed: number;
  readonly kills: number;
  readonly goals: readonly Goal[];
  readonly met: boolean;
}

export function goalReport(name: string, seed: number, kills: number, goals: readonly Goal[]): GoalReport {
  return { name, seed, kills, goals, met: goals.length > 0 && goals.every((goal) => goal.met) };
}

export function printGoals({ name, seed, kills, goals }: GoalReport, write: (line: string) => void): void {
  write(`crash ${name}, seed ${seed}, count ${kills}`);
  writeGoals(goals, write);
}

function resumeGoals(resumeMs: { readonly p95: number } | null, limit: number | null): readonly Goal[] {
  if (limit === null) return [];
  const what = 'resume time, p95';
  if (resumeMs === null) return [atMost(what, null, limit, 'ms', 'no kill left an operation open')];
  return [atMost(what, resumeMs.p95, limit, 'ms')];
}

function writeGoals(goals: readonly Goal[], write: (line: string) => void): void {
  for (const { name, actual, reason, limit, unit, met } of goals) {
    const figure = actual === null ? `not taken: ${reason ?? 'no reason given'}` : `${actual} ${unit}`;
    write(`${met ? 'met    ' : 'NOT met'}  ${name}: ${figure} (goal: at most ${limit} ${unit})`);
  }
}
