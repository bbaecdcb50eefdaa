// Puts questions to the user, one at a time (SPEC O23, O24). Without somebody to ask, the answer is no.

import type { Question } from '../shared/events.ts';
import type { PermissionAnswer, PermissionPort } from '../shared/ports.ts';

/** Asks a person. Resolves with their answer; must resolve with deny when the signal aborts. */
export type AskUser = (question: Question, signal: AbortSignal) => Promise<PermissionAnswer>;

const NOBODY: PermissionAnswer = { decision: 'deny', by: 'nobody' };

/** The permission port over one way of asking. Questions wait for each other, in the order asked. */
export function createPermissions(askUser: AskUser | null): PermissionPort {
  let turn: Promise<unknown> = Promise.resolve();
  return {
    ask(question, signal) {
      if (!askUser) return Promise.resolve(NOBODY);
      const answer = turn.then(() => (signal.aborted ? NOBODY : askUser(question, signal)));
      turn = answer.catch(() => {});
      return answer.catch(() => NOBODY);
    },
  };
}
