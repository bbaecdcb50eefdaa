// Whether a model goes round in circles (SPEC O2): the same calls with the same results, one step or a few at a time.

import { sha256 } from '../../shared/ids.ts';
import type { AgentContext } from './events.ts';

/** Repetitions after which the planner is told, and after which the message is stopped. */
export const REPEATS_TOLD = 2;
export const REPEATS_STOPPED = 4;
/** Steps of the longest cycle that counts as repetition: A, B, C, A, B, C. */
const MAX_CYCLE = 3;

const KEPT_STEPS = MAX_CYCLE * (REPEATS_STOPPED + 1);

/** The step that has just settled, added to those before. */
export function withStep(context: AgentContext): Pick<AgentContext, 'lastSteps' | 'repeats'> {
  const lastSteps = [...context.lastSteps, stepSignature(context)].slice(-KEPT_STEPS);
  return { lastSteps, repeats: repeatsIn(lastSteps) };
}

function stepSignature(context: AgentContext): string {
  const calls = context.calls.map((call) => `${call.name}:${call.argsHash}:${context.settled[call.op]}`);
  return sha256(calls.join('|')).slice(0, 16);
}

/** How many times in a row the newest cycle, of one step or a few, came back. */
function repeatsIn(steps: readonly string[]): number {
  let most = 0;
  for (let length = 1; length <= MAX_CYCLE; length += 1) {
    let same = 0;
    while (same < steps.length - length && steps.at(-1 - same) === steps.at(-1 - same - length)) same += 1;
    most = Math.max(most, Math.floor(same / length));
  }
  return most;
}
