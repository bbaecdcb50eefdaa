// The wake-up for one message: all that a job of the queue says. What is to be done stays in the inbox and the journal.

import type { Mode } from '../shared/modes.ts';

export interface Turn {
  readonly sid: string;
  readonly seq: number;
  readonly mode: Mode;
  /** How often a job for this message has ended without finishing it. */
  readonly gen: number;
}
