// What a decision means in each mode (SAFETY 2.2).

import type { Mode } from '../../shared/modes.ts';
import type { Decision } from './decision.ts';

export type Answer = 'run' | 'ask' | 'deny';

export interface Circumstances {
  /** Commands run in a sandbox on this machine. */
  readonly sandbox: boolean;
  /** Somebody is there to answer. */
  readonly canAsk: boolean;
}

/** The table of SAFETY 2.2. With nobody to ask, what would be asked is denied. */
export function decisionsByMode(decision: Decision, where: Circumstances): Readonly<Record<Mode, Answer>> {
  const readOnly = inReadOnly(decision, where.sandbox);
  const edit = inEdit(decision, where.sandbox);
  const answer = (wanted: Answer): Answer => (wanted === 'ask' && !where.canAsk ? 'deny' : wanted);
  return { ask: answer(readOnly), plan: answer(readOnly), edit: answer(edit) };
}

function inReadOnly(decision: Decision, sandbox: boolean): Answer {
  if (decision.class === 'allow-readonly') return sandbox || decision.literal ? 'run' : 'ask';
  return decision.class === 'outside-approval' && decision.op === 'read' ? 'ask' : 'deny';
}

function inEdit(decision: Decision, sandbox: boolean): Answer {
  if (decision.class === 'forbidden') return 'deny';
  if (decision.class === 'allow-readonly') return 'run';
  return decision.class === 'deny-in-read-only' && sandbox ? 'run' : 'ask';
}
