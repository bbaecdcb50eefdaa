// Runs one tool call: the tool machine decides, this file performs its effects. Every call ends in exactly one tool.done
// in the journal, whatever the tool does (SPEC E3, O9); nothing here ends the run.

import { denialOf, isGranted } from '../agent/permissions-memory.ts';
import { startActor } from '../machines/host.ts';
import type { ToolEffectRequest, ToolEvent } from '../machines/tool/events.ts';
import { toolMachine } from '../machines/tool/machine.ts';
import type { Gate, ParsedCall, Tool, ToolContext, ToolEffect, ToolResponse, Touch } from '../shared/define-tool.ts';
import type { JournalEvent, Question, SettledKind, ToolCallSummary } from '../shared/events.ts';
import { settledKindOf } from '../shared/events.ts';
import { idempotencyKey, sha256 } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';
import { killPoint } from '../shared/kill-point.ts';
import { Bug, type Failure, type Outcome } from '../shared/outcome.ts';
import type { LivePort, PermissionAnswer, PermissionPort } from '../shared/ports.ts';
import { type Scrub, scrubJson } from '../shared/scrub.ts';
import type { ToolRule } from './config-schema.ts';
import { afterCall, askedByHooks, passHooks } from './hooks/hooked-call.ts';
import type { CallResult, Hooks } from './hooks/run-hooks.ts';
import { questionOf, ruledGate } from './permissions-gate.ts';
import type { SessionMemory } from './session-memory.ts';
import { toolDone } from './tool-done.ts';

export interface ToolCallDeps {
  readonly sid: string;
  readonly root: string;
  /** Who asks, in words; absent: the session's own agent. */
  readonly agent?: string;
  readonly permissions: PermissionPort;
  /** What the journal knows of questions and their answers. */
  readonly memory: Pick<SessionMemory, 'permissions'>;
  /** What the settings say of a tool. */
  toolRule(tool: string): ToolRule | undefined;
  readonly live: LivePort;
  /** The hooks of this message. */
  readonly hooks: Hooks;
  /** A tool's data brought up to date with what a hook has made of its file; null when that is as it was. */
  takeUpChange(data: Json): Promise<Json | null>;
  readonly scrub: Scrub;
  /** Control characters out, capped: what the model and the journal may hold. */
  clean(text: string): string;
  record(event: JournalEvent): void;
  flushed(): Promise<void>;
  /** What the tool may reach, made for this call. */
  context(call: ToolCallSummary, more: CallContext): ToolContext;
  now(): number;
  log(message: string, detail: Record<string, unknown>): void;
}

/** The part of a tool's context that is the call's own. */
export type CallContext = Pick<ToolContext, 'signal' | 'report' | 'intend'>;

export interface RunningCall {
  readonly call: ToolCallSummary;
  readonly effect: ToolEffect;
  /** What the call touches; empty until its arguments were found valid. */
  touches(): readonly Touch[];
  /** Resolves when hooks can no longer change what it touches; null when none can. */
  readonly prepared: Promise<void> | null;
  cancel(): void;
  /** Resolves when tool.done is recorded. */
  readonly settled: Promise<void>;
}

/**
 * Starts a call. `tool` is undefined when the model named one that this mode does not have. `ready` is asked, once the
 * arguments are valid, for what must settle first: earlier calls of the step on the same paths (SPEC E12).
 */
export function startToolCall(
  deps: ToolCallDeps,
  call: ToolCallSummary,
  rawArgs: string,
  tool: Tool | { readonly missing: string },
  ready: (touches: readonly Touch[]) => Promise<unknown>,
): RunningCall {
  const startedAt = deps.now();
  const abort = new AbortController();
  const settled = Promise.withResolvers<void>();
  let parsed: ParsedCall | undefined;
  let touches: readonly Touch[] = [];
  let result: ToolResponse | undefined;
  let notes: readonly string[] = [];
  const prepared = deps.hooks.toolCall && Promise.withResolvers<void>();
  const left = new AbortController();
  const effect = 'missing' in tool ? 'read' : tool.effect;
  const timers: NodeJS.Timeout[] = [];

  const context = deps.context(call, {
    signal: abort.signal,
    report: (text) => deps.live.publish({ type: 'progress', op: call.op, text: deps.scrub(deps.clean(text)) }),
    intend: async (intent: Json) => {
      const key = idempotencyKey(deps.sid, call.op);
      deps.record({ type: 'tool.intent', op: call.op, key, intent, at: deps.now() });
      actor.send({ type: 'intent.journaled' });
      await deps.flushed();
      killPoint('tool:intended');
      abort.signal.throwIfAborted();
    },
  });

  const perform = (effect: ToolEffectRequest): void => {
    switch (effect.type) {
      case 'validate':
        return queueMicrotask(() => actor.send(validate()));
      case 'gate':
        return follow(gate());
      case 'ask':
        return follow(ask(effect.question));
      case 'execute':
        after(effect.timeoutMs, { type: 'time.up' });
        return follow(execute());
      case 'abort':
        abort.abort();
        if (effect.graceMs > 0) after(effect.graceMs, { type: 'grace.over' });
        return;
      case 'shape':
        return queueMicrotask(() => void shape(effect.kind, effect.failure));
      case 'settle':
        for (const timer of timers) clearTimeout(timer);
        prepared?.resolve();
        return settled.resolve();
      case 'noteUnexpected':
        return;
    }
  };

  const after = (ms: number, event: ToolEvent) => timers.push(setTimeout(() => actor.send(event), ms));
  const follow = (work: Promise<ToolEvent>) => void work.then((event) => actor.send(event));

  const validate = (): ToolEvent => {
    if ('missing' in tool) {
      return { type: 'args.invalid', failure: { kind: 'invalid', code: 'unknown_tool', message: tool.missing } };
    }
    const outcome = tool.parse(rawArgs);
    if (!outcome.ok) return { type: 'args.invalid', failure: outcome.failure };
    parsed = outcome.value;
    touches = parsed.touches(deps.root);
    return { type: 'args.valid' };
  };

  const gate = async (): Promise<ToolEvent> => {
    try {
      if ('missing' in tool) throw new Bug('A tool that is missing was gated.');
      let { argsHash } = call;
      let asks: readonly string[] = [];
      if (deps.hooks.toolCall) {
        const passed = await passHooks(deps.hooks.toolCall, { call, tool, parsed: known(parsed) }, abort.signal);
        if (!passed.ok) return { type: 'gate.denied', failure: passed.failure };
        ({ parsed, argsHash, asks, notes } = passed.value);
        touches = parsed.touches(deps.root);
        prepared?.resolve();
      }
      await ready(touches);
      const rule = deps.toolRule(call.name);
      const verdict = await ruledGate({ tool, parsed: known(parsed), root: deps.root, rule }, context);
      return gateEvent(askedByHooks(verdict, asks, tool.name, known(parsed)), { ...call, argsHash });
    } catch (error) {
      return { type: 'gate.denied', failure: thrown(deps, call, error) };
    }
  };

  const gateEvent = (gate: Gate<Json>, judged: ToolCallSummary): ToolEvent => {
    if (gate.verdict === 'allow') return { type: 'gate.allowed' };
    if (gate.verdict === 'deny') {
      return { type: 'gate.denied', failure: { kind: 'refused', code: gate.code, message: gate.message } };
    }
    const { timeoutMs, isRelayed } = deps.permissions;
    const question = scrubJson(
      questionOf(gate, judged, {
        sid: deps.sid,
        ...(deps.agent === undefined ? {} : { agent: deps.agent }),
        timeoutMs,
        ...(isRelayed === undefined ? {} : { isRelayed }),
        now: deps.now(),
      }),
      deps.scrub,
    );
    const before = denialOf(deps.memory.permissions, question);
    if (before) return { type: 'gate.denied', failure: denied(question, before) };
    return isGranted(deps.memory.permissions, question) ? { type: 'gate.allowed' } : { type: 'gate.asked', question };
  };

  /** A worker names the questions of its agents: one that has the name of this one is another, and its answer is not this one's. */
  const ownName = (question: Question): Question => {
    const held = deps.memory.permissions.asked.get(question.id)?.question;
    if (held === undefined || held.argsHash === question.argsHash) return question;
    return ownName({ ...question, id: sha256(question.id).slice(0, 16) });
  };

  /** An answer in the journal holds: a crash does not ask for it twice, nor do calls of a step that are exactly the same. */
  const ask = async (asked: Question): Promise<ToolEvent> => {
    const question = ownName(asked);
    const { id } = question;
    const answered = () => deps.memory.permissions.answers.get(id);
    let answer = answered();
    if (!answer) {
      if (!deps.permissions.isOpen(id)) deps.record({ type: 'perm.ask', op: call.op, question, at: deps.now() });
      answer = await deps.permissions.ask(question, abort.signal);
      if (!answered()) deps.record({ type: 'perm.answer', op: call.op, questionId: id, ...answer, at: deps.now() });
    }
    if (answer.decision !== 'deny') return { type: 'question.allowed' };
    return { type: 'question.denied', failure: denied(question, answer) };
  };

  const execute = async (): Promise<ToolEvent> => {
    let outcome: Outcome<ToolResponse>;
    try {
      outcome = await known(parsed).run(context);
    } catch (error) {
      outcome = { ok: false, failure: thrown(deps, call, error) };
    }
    killPoint('tool:executed');
    if (!outcome.ok) return { type: 'executed', kind: settledKindOf(outcome.failure.kind), failure: outcome.failure };
    result = outcome.value;
    return { type: 'executed', kind: 'ok', failure: null };
  };

  const shape = async (kind: SettledKind, failure: Failure | null) => {
    let end: CallResult = { kind, failure, response: kind === 'ok' ? (result ?? null) : null };
    if (deps.hooks.toolResult || notes.length > 0) end = await afterCall(afterwards(), end);
    deps.record(toolDone(deps, call, { ...end, startedAt }));
    actor.send({ type: 'shaped' });
  };

  const afterwards = () => ({
    toolResult: deps.hooks.toolResult,
    op: call.op,
    name: call.name,
    args: parsed?.args ?? {},
    notes,
    signal: left.signal,
    takeUpChange: (data: Json) => deps.takeUpChange(data),
  });

  deps.record({
    type: 'tool.start',
    op: call.op,
    callId: call.callId,
    name: call.name,
    version: 'missing' in tool ? 'none' : tool.version,
    at: startedAt,
  });
  const timeoutMs = 'missing' in tool ? 0 : tool.timeoutMs;
  const actor = startActor<ToolEvent, ToolEffectRequest>(toolMachine, { op: call.op, timeoutMs }, { perform });
  return {
    call,
    effect,
    touches: () => touches,
    prepared: prepared?.promise ?? null,
    cancel() {
      left.abort();
      actor.send({ type: 'tool.cancel' });
    },
    settled: settled.promise,
  };
}

function denied(question: Question, answer: PermissionAnswer): Failure {
  const word = answer.word ? ` The user says: ${answer.word}` : '';
  const who = WHO_DENIED[answer.by] ?? 'The user did not allow it';
  const reasons = question.reasons.length === 0 ? '' : ` (${question.reasons.join('; ')})`;
  return {
    kind: 'refused',
    code: 'not_allowed',
    message: `${who}: ${question.title}${reasons}${word} Do not look for another way round; go on without it.`,
  };
}

const WHO_DENIED: Readonly<Record<string, string>> = {
  nobody: 'Nobody is here to allow it',
  timeout: 'Nobody answered in time',
};

function thrown(deps: ToolCallDeps, call: ToolCallSummary, error: unknown): Failure {
  if (error instanceof Error && error.name === 'AbortError') {
    return { kind: 'cancelled', code: 'cancelled', message: 'Cancelled before it finished.' };
  }
  const message = error instanceof Error ? error.message : String(error);
  deps.log('a tool threw', { tool: call.name, op: call.op, message });
  return {
    kind: 'failed',
    code: 'tool_crashed',
    message: `${call.name} broke: ${message}. This is a fault of the tool.`,
  };
}

function known(parsed: ParsedCall | undefined): ParsedCall {
  if (!parsed) throw new Bug('A call went on without valid arguments.');
  return parsed;
}
