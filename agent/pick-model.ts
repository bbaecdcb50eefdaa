// Which model a step asks (SPEC E9): the agent machine counts in indexes, the journal and the providers speak in names.

import type { EventOf } from '../shared/events.ts';
import { Bug } from '../shared/outcome.ts';

/** `provider/name` of the planner's model (index 0) or of one of its fallbacks. */
export function pickModel({ model, fallbackModels = [] }: EventOf<'msg.start'>, index: number): string {
  const picked = index === 0 ? model : fallbackModels[index - 1];
  if (picked === undefined) throw new Bug(`There is no model ${index}.`);
  return picked;
}
