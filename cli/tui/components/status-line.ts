// The two lines around the editor: what goes on right now, above it; mode, model, phase, context, money, queue and sandbox, below it.

import { cleanLine } from '../../../shared/clean-text.ts';
import type { Mode } from '../../../shared/modes.ts';
import { costText, windowText } from '../../meter.ts';
import { PHASE_WORDS } from '../../phase-words.ts';
import type { Theme } from '../theme.ts';
import type { View } from '../view.ts';
import { fitParts, guard } from './lines.ts';
import { duration } from './tool-lines.ts';

const FRAMES = ['◐', '◓', '◑', '◒'] as const;
export const FRAME_MS = 250;

/** Empty when nothing runs. */
export function activityLine(view: View, theme: Theme, width: number, now: number): string {
  if (view.running === null) return '';
  const waits = view.questions.length > 0 ? 'waiting for your answer' : view.activity;
  const forMs = Math.max(0, now - view.running.startedAt);
  const frame = FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? '';
  const took = duration(Math.floor(forMs / 1_000) * 1_000).replace('.0 s', ' s');
  const parts = [
    `${theme.accent(frame)} ${cleanLine(waits)}`,
    theme.dim(took === '0 ms' ? '0 s' : took),
    // A question has the keys.
    view.questions.length > 0 ? '' : theme.dim('Esc interrupts'),
  ];
  return guard(` ${fitParts(parts, width - 1, theme.dim(' · '))}`, width);
}

export interface Standing {
  readonly mode: Mode;
  readonly queued: number;
  readonly waiting: number;
  readonly model: string;
  readonly sandbox: string;
  readonly hint: string;
}

export function statusLine(view: View, standing: Standing, theme: Theme, width: number): string {
  const usd = view.doneUsd === null || view.liveUsd === null ? null : view.doneUsd + view.liveUsd;
  const model = (view.model === '' ? standing.model : view.model).replace(/^[^/]*\//, '');
  const parts = [
    standing.hint === '' ? styleOf(standing.mode, theme)(standing.mode) : theme.warn(standing.hint),
    theme.dim(cleanLine(model, 40)),
    standing.queued > 0 ? theme.accent(`${standing.queued} queued`) : '',
    standing.waiting > 1 ? theme.warn(`${standing.waiting} questions`) : '',
    view.phase === null ? '' : theme.dim(PHASE_WORDS[view.phase]),
    view.window === null ? '' : theme.dim(windowText(view.window)),
    view.window === null ? '' : theme.dim(costText(usd, view.isEstimated)),
    theme.dim(standing.sandbox),
    theme.dim('Shift-Tab mode · /help'),
  ];
  return guard(` ${fitParts(parts, width - 1, theme.dim(' · '))}`, width);
}

/** Edit stands out: it changes files. */
export const styleOf = (mode: Mode, theme: Theme): ((text: string) => string) =>
  mode === 'edit' ? theme.warn : mode === 'plan' ? theme.accent : theme.dim;
