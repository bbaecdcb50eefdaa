// How a batch goes on, as one line that is rewritten in a terminal, and as a line now and then elsewhere.

import type { BatchStatus } from '../orchestrator/batch/store.ts';
import { timeText, usdText } from '../shared/amount-text.ts';
import { EXIT } from './exit-codes.ts';

export interface Progress {
  show(status: BatchStatus): void;
  /** Leaves the line behind. */
  end(): void;
}

const PLAIN_EVERY_MS = 5_000;
const BAR = 24;

export function createProgress(
  out: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown },
  now: () => number = Date.now,
): Progress {
  const rate = createRate(now);
  let shownAt = Number.NEGATIVE_INFINITY;
  let shown = '';
  let isOpen = false;
  return {
    show(status) {
      const line = progressLine(status, rate(doneOf(status)), out.isTTY === true);
      if (out.isTTY === true) {
        out.write(`\r\u001b[K${line.slice(0, (out.columns ?? 80) - 1)}`);
        isOpen = true;
      } else if (line !== shown && (now() - shownAt >= PLAIN_EVERY_MS || status.endedAt !== null)) {
        out.write(`${line}\n`);
        shownAt = now();
        shown = line;
      }
    },
    end() {
      if (isOpen) out.write('\n');
      isOpen = false;
    },
  };
}

export const doneOf = ({ counts }: BatchStatus): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** `perSecond`: null while it is not known. */
export function progressLine(status: BatchStatus, perSecond: number | null, withBar: boolean): string {
  const { bid, total, counts, running } = status;
  const done = doneOf(status);
  const filled = total === 0 ? BAR : Math.floor((BAR * done) / total);
  const left = total - done;
  const bad = counts.failed + counts.limit + counts.skipped + counts.cancelled;
  return [
    `${bid}${withBar ? ` ${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}` : ':'} ${done} of ${total} done`,
    ...(bad > 0 ? [`${bad} not completed`] : []),
    ...(left > 0 ? [`${running} running`] : []),
    ...(left > 0 && perSecond !== null && perSecond > 0
      ? [rateText(perSecond), `${timeText((1000 * left) / perSecond)} left`]
      : []),
    ...(done > 0 ? [usdText(status.costUsd)] : []),
  ].join(' · ');
}

const rateText = (perSecond: number): string =>
  perSecond >= 1 ? `${perSecond.toFixed(1)}/s` : `${(60 * perSecond).toFixed(1)}/min`;

const WINDOW_MS = 60_000;

/** Over the last minute. */
function createRate(now: () => number): (done: number) => number | null {
  const seen: { readonly at: number; readonly done: number }[] = [];
  return (done) => {
    const at = now();
    seen.push({ at, done });
    while ((seen[0]?.at ?? at) < at - WINDOW_MS) seen.shift();
    const first = seen[0];
    if (first === undefined || at - first.at < 1000) return null;
    return (1000 * (done - first.done)) / (at - first.at);
  };
}

/** What the exit code of a command that waited for a batch is. */
export function batchExitCode({ counts, total, endedAt }: BatchStatus): number {
  if (endedAt === null) return EXIT.failed;
  if (counts.completed === total) return EXIT.completed;
  if (counts.failed > 0) return EXIT.failed;
  if (counts.cancelled > 0) return EXIT.cancelled;
  return counts.limit > 0 ? EXIT.limit : EXIT.failed;
}

/** "12 completed, 1 failed". */
export function countsText({ counts }: BatchStatus): string {
  const words = Object.entries(counts).flatMap(([status, count]) => (count > 0 ? [`${count} ${status}`] : []));
  return words.length === 0 ? 'nothing done yet' : words.join(', ');
}
