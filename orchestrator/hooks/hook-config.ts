// The `hooks` of the settings: shell commands by event (SPEC E5). A name in `match` that is no tool is a mistake: a guard with a typing
// error would guard nothing.

import * as z from 'zod';
import { nearestName } from '../nearest-name.ts';
import { toolMatcher } from './tool-matcher.ts';

const MAX_TIMEOUT_MS = 600_000;

const common = {
  command: z.string().trim().min(1).describe('Run by bash, with the event as one JSON object on stdin.'),
  name: z.string().trim().min(1).max(100).describe('How messages call it. Default: its place in the file.').optional(),
  timeoutMs: z
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .describe('After this it has failed, and all that it started is ended. Default 10000.')
    .optional(),
};

const WATCHED = 'It only watches: nothing waits for it.';

/** `tools`: the names that `match` may hold. */
export function hooksSchema(tools: readonly string[]) {
  const match = z
    .string()
    .trim()
    .min(1)
    .superRefine((text, issues) => {
      for (const part of text.split('|').map((one) => one.trim())) {
        if (matchesSome(part, tools)) continue;
        const near = nearestName(part, tools);
        const advice = near === null ? `The tools are: ${tools.join(', ')}` : `Did you mean "${near}"?`;
        issues.addIssue({ code: 'custom', message: `no tool is called "${part}". ${advice}` });
      }
    })
    .describe('Tools it is for, as ExecuteCommand|Write*. Default: all.')
    .optional();
  const ofCall = (text: string) => z.array(z.strictObject({ match, ...common })).describe(text);
  const ofMessage = (text: string) => z.array(z.strictObject(common)).describe(text);
  return z
    .strictObject({
      toolCall: ofCall('Before a tool call. It can deny it, have the user asked, or change its arguments.').optional(),
      toolResult: ofCall('After a tool call that ran. It can add a note for the model.').optional(),
      beforeLLM: ofMessage('Before the model is asked for a step. It can deny that, or add a note.').optional(),
      done: ofMessage('When a message is at its end.').optional(),
      stepStart: ofMessage(`When a step begins. ${WATCHED}`).optional(),
      afterLLM: ofMessage(`When the model has answered. ${WATCHED}`).optional(),
      summarize: ofMessage(`When the conversation is about to be made smaller. ${WATCHED}`).optional(),
      historyChanged: ofMessage(`When it was made smaller. ${WATCHED}`).optional(),
    })
    .describe("Shell commands that run at points of a message. A project's hold only once its file is trusted.");
}

const matchesSome = (part: string, tools: readonly string[]): boolean =>
  part.includes('*') ? tools.some((tool) => toolMatcher(part)(tool)) : tools.includes(part);
