// The hooks of one message (SPEC E5): which of them listen to what, and what comes of calling them. Everything that nobody listens to is
// null here, so that a message without hooks pays nothing for them.

import type { ToolEffect, ToolResponse } from '../../shared/define-tool.ts';
import type { EventOf, SettledKind } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { Json } from '../../shared/json.ts';
import type { Failure, Outcome } from '../../shared/outcome.ts';
import { type Scrub, scrubJson } from '../../shared/scrub.ts';
import { askHook } from './ask-hook.ts';
import type { Hook, HookDetails, HookEvent, HookGiven, HookPlace } from './hook.ts';
import { type CallVerdict, type HookNews, judgeCall } from './judge-call.ts';
import { createObservers } from './observers.ts';

/** A call as its hooks are told of it. */
export interface HookedCall {
  readonly op: OpId;
  readonly name: string;
  readonly effect: ToolEffect;
  readonly args: Json;
  /** Who is called for one of these tools has been asked about it. */
  readonly except?: readonly string[];
}

export interface CallResult {
  readonly kind: SettledKind;
  readonly failure: Failure | null;
  readonly response: ToolResponse | null;
}

export interface Hooks {
  readonly toolCall: ((call: HookedCall, signal: AbortSignal) => Promise<CallVerdict>) | null;
  /** Notes for the model, one for each hook that has something to say; null when no hook was called. */
  readonly toolResult:
    | ((call: Omit<HookedCall, 'effect'>, result: CallResult, signal: AbortSignal) => Promise<readonly string[] | null>)
    | null;
  readonly beforeLLM:
    | ((details: HookDetails['beforeLLM'], signal: AbortSignal) => Promise<Outcome<{ readonly note: string | null }>>)
    | null;
  /** Tells those who watch; never waits for them. */
  readonly observe: (<E extends WatchedEvent>(event: E, details: HookDetails[E]) => void) | null;
  readonly watchesDeltas: boolean;
  /** The message is at its end: `done` hooks, and what watchers are still at. */
  readonly done: ((details: HookDetails['done'], signal: AbortSignal) => Promise<void>) | null;
}

type WatchedEvent = 'stepStart' | 'afterLLM' | 'summarize' | 'historyChanged' | 'streamDelta';
const WATCHED: readonly WatchedEvent[] = ['stepStart', 'afterLLM', 'summarize', 'historyChanged', 'streamDelta'];

export const NO_HOOKS: Hooks = {
  toolCall: null,
  toolResult: null,
  beforeLLM: null,
  observe: null,
  watchesDeltas: false,
  done: null,
};

export interface HookPorts {
  readonly place: HookPlace;
  readonly scrub: Scrub;
  /** Control characters out, capped. */
  clean(text: string): string;
  /** Takes what belongs into the journal. */
  record(event: EventOf<'hook.ran'>): void;
  now(): number;
}

export function createHooks(hooks: readonly Hook[], ports: HookPorts): Hooks {
  if (hooks.length === 0) return NO_HOOKS;
  const { place, scrub } = ports;
  const safe = (text: string) => scrub(ports.clean(text));
  const listeners = (...events: readonly HookEvent[]) =>
    hooks.filter((hook) => events.some((event) => hook[event] !== undefined));

  const tell = (event: HookEvent, op: OpId | null, { hook, outcome, message, durationMs, args }: HookNews) =>
    ports.record({
      type: 'hook.ran',
      seq: place.seq,
      ...(op === null ? {} : { op }),
      event,
      name: safe(hook),
      outcome,
      message: safe(message),
      ...(args === undefined ? {} : { args: { inline: args } }),
      durationMs,
      at: ports.now(),
    });

  /** All of them at the same time; what failed is told. */
  const askAll = async <E extends HookEvent>(
    asked: readonly Hook[],
    given: HookGiven<E>,
    op: OpId | null,
    signal: AbortSignal,
  ) =>
    Promise.all(
      asked.map(async (hook) => {
        const said = await askHook(hook, given, signal);
        if (said.kind === 'failed' && !signal.aborted)
          tell(given.event, op, { hook: hook.name, outcome: 'failed', ...said });
        return { hook, said };
      }),
    );

  const onCall = listeners('toolCall');
  const onResult = listeners('toolResult');
  const onRequest = listeners('beforeLLM');
  const onEnd = listeners('done');
  const watching = listeners(...WATCHED);
  const observers = watching.length === 0 ? null : createObservers(watching, (event, news) => tell(event, null, news));

  const isFor = (hook: Hook, name: string, except: readonly string[] = []): boolean => {
    const matches = (tool: string) => hook.matches?.(tool) ?? true;
    return matches(name) && !except.some(matches);
  };

  const toolCall: NonNullable<Hooks['toolCall']> = ({ op, name, effect, args, except }, signal) =>
    judgeCall({
      hooks: onCall.filter((hook) => isFor(hook, name, except)),
      given: { event: 'toolCall', ...place, step: stepOf(op), op, tool: name, effect },
      args,
      scrub,
      signal,
      tell: (news) => tell('toolCall', op, news),
    });

  const toolResult: NonNullable<Hooks['toolResult']> = async ({ op, name, args, except }, result, signal) => {
    const asked = onResult.filter((hook) => isFor(hook, name, except));
    if (asked.length === 0) return null;
    const { kind, failure, response } = result;
    const text = response?.text ?? failure?.message ?? '';
    const given: HookGiven<'toolResult'> = {
      event: 'toolResult',
      ...place,
      step: stepOf(op),
      op,
      tool: name,
      args: scrubJson(args, scrub),
      status: kind,
      text: safe(text),
      description: safe(response?.description ?? ''),
      affectedFiles: response?.affectedFiles ?? [],
    };
    const notes: string[] = [];
    for (const { hook, said } of await askAll(asked, given, op, signal)) {
      const note = said.kind === 'answered' ? said.answer?.note?.trim() : undefined;
      if (!note) continue;
      notes.push(`[The hook "${hook.name}" of the user says: ${note}]`);
      tell('toolResult', op, { hook: hook.name, outcome: 'noted', message: note, durationMs: said.durationMs });
    }
    return notes;
  };

  const beforeLLM: NonNullable<Hooks['beforeLLM']> = async (details, signal) => {
    const given: HookGiven<'beforeLLM'> = { event: 'beforeLLM', ...place, ...details };
    const notes: string[] = [];
    let refusal: Failure | null = null;
    const all = await askAll(onRequest, given, null, signal);
    if (signal.aborted) return { ok: false, failure: CANCELLED };
    for (const { hook, said } of all) {
      const { name } = hook;
      if (said.kind === 'cancelled') return { ok: false, failure: CANCELLED };
      if (said.kind === 'failed') {
        refusal ??= { kind: 'refused', code: 'hook_failed', message: requestFailed(name, said.message) };
        continue;
      }
      const { decision, reason, note } = said.answer ?? {};
      const { durationMs } = said;
      if (decision === 'deny') {
        const why = reason?.trim() || 'it gave no reason';
        tell('beforeLLM', null, { hook: name, outcome: 'denied', message: why, durationMs });
        refusal = { kind: 'refused', code: 'hook_denied', message: requestDenied(name, why) };
      } else if (note?.trim()) {
        notes.push(`[The hook "${name}" of the user says: ${note.trim()}]`);
        tell('beforeLLM', null, { hook: name, outcome: 'noted', message: note.trim(), durationMs });
      }
    }
    if (refusal) return { ok: false, failure: refusal };
    return { ok: true, value: { note: notes.length === 0 ? null : safe(notes.join('\n')) } };
  };

  const done: NonNullable<Hooks['done']> = async (details, signal) => {
    await askAll(onEnd, scrubJson({ event: 'done', ...place, ...details }, scrub), null, signal);
    await observers?.drained(signal);
  };

  return {
    toolCall: onCall.length === 0 ? null : toolCall,
    toolResult: onResult.length === 0 ? null : toolResult,
    beforeLLM: onRequest.length === 0 ? null : beforeLLM,
    observe: observers && ((event, details) => observers.observe(givenOf(event, place, details, scrub))),
    watchesDeltas: hooks.some((hook) => hook.streamDelta !== undefined),
    done: onEnd.length === 0 && observers === null ? null : done,
  };
}

/** Deltas are many and for the eye, as in the live stream: only what is whole is scrubbed. */
function givenOf<E extends WatchedEvent>(event: E, place: HookPlace, details: HookDetails[E], scrub: Scrub): HookGiven {
  const given = { event, ...place, ...details } as unknown as HookGiven;
  return event === 'streamDelta' ? given : scrubJson(given, scrub);
}

const stepOf = (op: string): number => Number(op.split('.')[1]);

const requestDenied = (name: string, why: string): string =>
  `The hook "${name}" does not allow asking the model: ${why}`;

const requestFailed = (name: string, what: string): string =>
  `The hook "${name}", which has a say before the model is asked, did not work: ${what}. So the model was not asked. Mend the hook, or take it out of the settings.`;

const CANCELLED: Failure = { kind: 'cancelled', code: 'cancelled', message: 'Cancelled before it finished.' };
