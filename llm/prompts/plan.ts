// System prompt of plan mode (SPEC O1, G8): read-only, ends with a plan.

import { commonPrompt } from './common.ts';

export const planPrompt = `${commonPrompt}

Mode: plan (read-only)
First plan how to gather what you need, gather it, then answer with a plan for the change: the goal in one sentence, the steps in order with the files and functions each touches, how to verify each, what could go wrong, open questions for the user. You cannot change files.`;
