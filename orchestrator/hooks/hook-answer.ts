// What a hook's command means by its exit code and its output. Exit 0: no objection, or what the JSON object on stdout says. Exit 2: no,
// and stderr is the reason. Anything else has failed: a hook that cannot be understood has not agreed.

import * as z from 'zod';
import type { JsonObject } from '../../shared/json.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { HookAnswers, HookEvent } from './hook.ts';
import type { HookRun } from './run-hook-command.ts';

const MAX_REASON = 4_000;
const reason = z.string().transform(short).optional();
const note = z.string().transform(short).optional();

const ANSWERS = {
  toolCall: z.strictObject({
    decision: z.enum(['allow', 'deny', 'ask']).optional(),
    reason,
    args: z.record(z.string(), z.json()).optional(),
  }),
  beforeLLM: z.strictObject({ decision: z.enum(['allow', 'deny']).optional(), reason, note }),
  toolResult: z.strictObject({ note }),
} as const;

type Answer = HookAnswers[keyof HookAnswers];

/** The answer of a command that has ended; a failure's message says what is wrong with the hook. */
export function hookAnswer(event: HookEvent, run: HookRun): Outcome<Answer | null> {
  const { exitCode } = run;
  if (exitCode === null) return broken(run.stderr);
  if (run.cut) return broken('it wrote more than 1 MB');
  const said = short(run.stderr);
  if (exitCode === 2) {
    if (event === 'toolCall' || event === 'beforeLLM') return ok({ decision: 'deny', reason: said });
    if (event === 'toolResult') return ok({ note: said });
  }
  if (exitCode !== 0) return broken(`it ended with exit code ${exitCode}${said === '' ? '' : `: ${said}`}`);
  const isBefore = event === 'toolCall' || event === 'beforeLLM';
  const text = run.stdout.trim();
  // After an action programs may say what they like, such as the names of the files they have formatted.
  if (text === '' || (!isBefore && (event !== 'toolResult' || !text.startsWith('{')))) return ok(null);
  return parseAnswer(event, text);
}

function parseAnswer(event: keyof typeof ANSWERS, text: string): Outcome<Answer> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return broken(
      `stdout is for one JSON object or nothing, and it wrote ${JSON.stringify(text.slice(0, 80))}; other words belong on stderr`,
    );
  }
  const parsed = ANSWERS[event].safeParse(json);
  if (!parsed.success) return broken(`its answer is not one for ${event}: ${z.prettifyError(parsed.error)}`);
  const answer = parsed.data as Answer & { readonly args?: JsonObject };
  if (answer.args !== undefined && 'decision' in answer && answer.decision === 'deny')
    return broken('its answer denies the call and changes it');
  return ok(answer);
}

const broken = (what: string) => fail('failed', 'hook_failed', what);

function short(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= MAX_REASON ? trimmed : `${trimmed.slice(0, MAX_REASON)} […]`;
}
