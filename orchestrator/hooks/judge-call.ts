// What all toolCall hooks together say of one call (SPEC E5). They are asked at the same time. When one changes the arguments, the
// others are asked again about what would now be run, so that no hook is passed by; a call that they do not agree on is refused.

import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../shared/json.ts';
import type { Failure } from '../../shared/outcome.ts';
import { type Scrub, scrubJson } from '../../shared/scrub.ts';
import { askHook } from './ask-hook.ts';
import type { Hook, HookGiven } from './hook.ts';

export type CallVerdict =
  | {
      readonly verdict: 'go';
      /** What is run instead of the call's own arguments, and whose change it is. */
      readonly changed: { readonly args: Json; readonly by: string } | null;
      /** The user is to be asked, for these reasons. */
      readonly asks: readonly string[];
    }
  | { readonly verdict: 'refused'; readonly failure: Failure };

interface Change {
  readonly args: Json;
  readonly by: Hook;
}

/** Something of a hook that belongs into the journal. */
export interface HookNews {
  readonly hook: string;
  readonly outcome: 'denied' | 'changed' | 'failed' | 'noted';
  readonly message: string;
  readonly durationMs: number;
  readonly args?: Json;
}

/** Every hook may change what another has changed once or twice; beyond that they are at odds. */
const MAX_ROUNDS = 3;
const REDACTED = '[redacted:';

export interface JudgedCall {
  readonly hooks: readonly Hook[];
  /** The call as hooks see it but for its arguments. */
  readonly given: Omit<HookGiven<'toolCall'>, 'args'>;
  readonly args: Json;
  readonly scrub: Scrub;
  readonly signal: AbortSignal;
  tell(news: HookNews): void;
}

export async function judgeCall(call: JudgedCall): Promise<CallVerdict> {
  const { given, scrub, signal, tell } = call;
  const about = call.hooks.filter((hook) => hook.toolCall !== undefined && (hook.matches?.(given.tool) ?? true));
  const asks = new Map<string, string>();
  let changed: Change | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const args: Json = changed?.args ?? call.args;
    const shown = scrubJson(args, scrub);
    const asked = about.filter((hook) => hook !== changed?.by);
    const said = await Promise.all(
      asked.map(async (hook) => ({ hook, ...(await askHook(hook, { ...given, args: shown }, signal)) })),
    );
    // Whoever cancelled has gone on; nothing is told any more.
    if (signal.aborted) return { verdict: 'refused', failure: CANCELLED };
    const changes: Change[] = [];
    let refusal: Failure | null = null;
    for (const one of said) {
      const { hook, durationMs } = one;
      const { name } = hook;
      if (one.kind === 'cancelled') return { verdict: 'refused', failure: CANCELLED };
      if (one.kind === 'failed') {
        tell({ hook: name, outcome: 'failed', message: one.message, durationMs });
        refusal ??= refused('hook_failed', failedText(name, one.message));
        continue;
      }
      const { decision, reason, args: wanted } = one.answer ?? {};
      if (decision === 'deny') {
        const why = reason?.trim() || 'it gave no reason';
        tell({ hook: name, outcome: 'denied', message: why, durationMs });
        refusal = refused('hook_denied', deniedText(name, why));
      } else {
        if (decision === 'ask') asks.set(name, `the hook "${name}" asks: ${reason?.trim() || 'it gave no reason'}`);
        const restored = wanted && restore(wanted, shown, args);
        if (restored === null) {
          tell({ hook: name, outcome: 'failed', message: HELD_SECRET, durationMs });
          refusal ??= refused('hook_failed', failedText(name, HELD_SECRET));
        } else if (restored && !isDeepStrictEqual(restored, args)) {
          const change = scrubJson(restored, scrub);
          tell({ hook: name, outcome: 'changed', message: changedText(shown, change), durationMs, args: change });
          changes.push({ args: restored, by: hook });
        }
      }
    }
    if (refusal) return { verdict: 'refused', failure: refusal };
    const [first, ...others] = changes;
    if (!first) {
      const result = changed && { args: changed.args, by: changed.by.name };
      return { verdict: 'go', changed: result, asks: [...asks.values()] };
    }
    const other = others.find(({ args: wanted }) => !isDeepStrictEqual(wanted, first.args));
    if (other) return { verdict: 'refused', failure: refused('hook_failed', atOdds(first.by.name, other.by.name)) };
    changed = first;
  }
  return { verdict: 'refused', failure: refused('hook_failed', atOdds(changed?.by.name ?? '', 'another')) };
}

/**
 * The arguments that a hook wants, with the secrets it was not shown put back: what it left as it was stays as it was. Null when it
 * changed a field that holds one.
 */
function restore(wanted: JsonObject, shown: Json, real: Json): Json | null {
  const before = shown as JsonObject;
  const hidden = real as JsonObject;
  const entries = Object.entries(wanted).map(([key, value]) => {
    if (Object.hasOwn(before, key) && isDeepStrictEqual(value, before[key])) return [key, hidden[key] ?? null] as const;
    return [key, value] as const;
  });
  const lost = entries.some(
    ([key, value]) => !isDeepStrictEqual(value, hidden[key]) && JSON.stringify(value).includes(REDACTED),
  );
  return lost && !isDeepStrictEqual(shown, real) ? null : Object.fromEntries(entries);
}

function changedText(before: Json, after: Json): string {
  const [old, now] = [before as JsonObject, after as JsonObject];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return `changed ${names.filter((name) => !isDeepStrictEqual(old[name], now[name])).join(', ')}`;
}

const HELD_SECRET =
  'it changed an argument that holds a secret, which hooks are not shown; a hook can leave such an argument alone or deny the call';

const refused = (code: string, message: string): Failure => ({ kind: 'refused', code, message });

const deniedText = (name: string, why: string): string =>
  `The hook "${name}" of the user does not allow this call: ${why}\nIt was not run. Do not look for another way round; go on without it.`;

const failedText = (name: string, what: string): string =>
  `The hook "${name}" of the user, which has a say in this call, did not work: ${what}. So the call was not run. That is for the user to mend: go on without it, and say so.`;

const atOdds = (one: string, other: string): string =>
  `The hooks "${one}" and "${other}" of the user change the arguments of this call against each other, so it was not run. That is for the user to mend: go on without it, and say so.`;

const CANCELLED: Failure = { kind: 'cancelled', code: 'cancelled', message: 'Cancelled before it finished.' };
