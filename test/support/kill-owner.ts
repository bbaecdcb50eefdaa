// What the crash scripts share (DURABILITY 15): a life of an owner process that is killed -9, what the lives together have
// done to their effects, and quantiles.

import { spawn } from 'node:child_process';
import { crashChild } from './crash-bundle.ts';

/** What is left after all lives. Each count is of numbered operations. */
export interface KillResult {
  /** Lives that were killed. */
  readonly kills: number;
  /** No effect, no result, or a wrong result. */
  readonly lost: number;
  /** Effect or result more than once. */
  readonly doubled: number;
  /** Effects that came before the effect of an operation with a smaller number. */
  readonly misordered: number;
  /** Operations whose outcome is honestly unknown. */
  readonly unknown: number;
  /** From the start of a process until it knows what became of the operation that its forerunner left open. */
  readonly resumeMs: readonly number[];
}

export interface Life {
  /** Null: it ended by itself, with exit code 0. */
  readonly killed: boolean;
  /** From its start until it said "resumed"; null when it had nothing to resume, or died before. */
  readonly resumeMs: number | null;
}

/** Runs a child of test/support until it ends. `onText` gets all it has said so far and a way to kill it. */
export function liveOnce(
  child: string,
  order: object,
  onText: (text: string, kill: () => void) => void,
  onStart: (kill: () => void) => void = () => {},
): Promise<Life> {
  const startedAt = performance.now();
  const { args, env } = crashChild(child);
  const life = spawn(process.execPath, [...args, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const kill = () => void life.kill('SIGKILL');
  onStart(kill);
  let text = '';
  let resumeMs: number | null = null;
  life.stdout.on('data', (chunk) => {
    text += String(chunk);
    if (resumeMs === null && text.includes('resumed\n')) resumeMs = performance.now() - startedAt;
    onText(text, kill);
  });
  return new Promise((resolve, reject) => {
    life.once('error', reject);
    life.once('close', (code, signal) => {
      if (signal === 'SIGKILL' || code === 0) resolve({ killed: signal === 'SIGKILL', resumeMs });
      else reject(new Error(`${child} ended with ${code ?? signal}`));
    });
  });
}

/** How often each number below `below` occurs. */
export function countOf(numbers: readonly number[], below: number): readonly number[] {
  const counts = Array.from({ length: below }, () => 0);
  for (const n of numbers) counts[n] = (counts[n] ?? 0) + 1;
  return counts;
}

/** How many numbers are smaller than one before them. */
export function inversions(numbers: readonly number[]): number {
  let [highest, found] = [-1, 0];
  for (const n of numbers) {
    if (n < highest) found += 1;
    highest = Math.max(highest, n);
  }
  return found;
}

export function quantile(values: readonly number[], q: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null;
}
