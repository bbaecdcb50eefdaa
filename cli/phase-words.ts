// The phases of a message (SPEC E6) as the user reads them.

import type { Phase } from '../shared/phase.ts';

export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  explore: 'exploring',
  discover_and_plan: 'planning',
  edit: 'editing',
  validate: 'validating',
};
