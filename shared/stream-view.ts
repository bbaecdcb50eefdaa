// Turns the journal and the live stream of one session into the public stream (stream-events.ts). Stateful only in what a
// reader must know to name things: the running message and the arguments of its calls. Payloads come inline.

import { type AgentsView, createAgentsView } from './agents-view.ts';
import { type EventOf, type JournalEvent, type LiveEvent, MAIN_AGENT, type Question } from './events.ts';
import { imageLabel } from './images.ts';
import type { Json } from './json.ts';
import { type ToolCallPart, textOf, toolCallsOf } from './messages.ts';
import type { Mode } from './modes.ts';
import type { Failure } from './outcome.ts';
import { inlineOf } from './payload.ts';
import { afterAnswer, FIRST_PHASE } from './phase.ts';
import { NO_RATES, type Rates, spentOn } from './spending.ts';
import type { StreamEvent } from './stream-events.ts';

export interface StreamView {
  journaled(id: string, event: JournalEvent): readonly StreamEvent[];
  live(event: LiveEvent, at: number): readonly StreamEvent[];
}

const timeOf = (event: JournalEvent): number => event.at ?? (event.type === 'timer.set' ? event.dueAt : 0);

/** A StreamEvent before it is told where it stands. */
export type Bare<T> = T extends StreamEvent ? Omit<T, 'session' | 'id' | 'at' | 'seq'> : never;

/** `rates` price what was used; without them costs and windows are unknown. */
export function createStreamView(session: string, rates: Rates = NO_RATES): StreamView {
  let seq = 0;
  let mode: Mode = 'ask';
  let calls = new Map<string, ToolCallPart>();
  let failure: Failure | null = null;
  let model = '';
  let trail = FIRST_PHASE;
  let agents: AgentsView | null = null;

  const steer = (event: JournalEvent) => {
    if (event.type === 'llm.fail') failure = event.failure;
    if (event.type === 'llm.req') model = event.model;
    if (event.type === 'msg.done') seq = event.seq;
    if (event.type === 'msg.start') {
      seq = event.seq;
      mode = event.mode;
      model = event.model;
      failure = null;
      trail = FIRST_PHASE;
    }
    if (event.type === 'llm.res' && 'inline' in event.parts) {
      const parts = toolCallsOf(event.parts.inline);
      trail = afterAnswer(trail, parts);
      calls = new Map(event.calls.flatMap((call, index) => (parts[index] ? [[call.op, parts[index]]] : [])));
    }
  };

  return {
    journaled(id, event) {
      if (isOfAgent(event)) {
        agents ??= createAgentsView(session, rates, createStreamView);
        return agents.journaled(id, event);
      }
      const before = model;
      const { phase } = trail;
      steer(event);
      const at = timeOf(event);
      const changed: Bare<StreamEvent>[] =
        trail.phase === phase || event.type === 'msg.start' ? [] : [{ type: 'PhaseChanged', phase: trail.phase }];
      return [...view(event, { mode, calls, failure, before, rates }), ...changed].map((bare) => ({
        ...bare,
        session,
        id,
        at,
        seq,
      }));
    },
    live: (event, at) => liveView(event).map((bare) => ({ ...bare, session, id: null, at, seq })),
  };
}

interface Seen {
  readonly mode: Mode;
  readonly calls: ReadonlyMap<string, ToolCallPart>;
  readonly failure: Failure | null;
  /** The model that was asked before this event. */
  readonly before: string;
  readonly rates: Rates;
}

function view(event: JournalEvent, seen: Seen): Bare<StreamEvent>[] {
  const { mode, calls, failure, before, rates } = seen;
  switch (event.type) {
    case 'session.opened':
      return [{ type: 'SessionOpened', root: event.root, instructions: event.instructionFiles ?? [] }];
    case 'msg.start':
      return [
        {
          type: 'MessageStarted',
          mode: event.mode,
          body: inlineOf(event.body),
          model: event.model,
          ...(event.images === undefined ? {} : { images: event.images.map(imageLabel) }),
        },
      ];
    case 'llm.req':
      return [
        ...changeView(before, event.model, failure),
        { type: 'StepStarted', step: stepOf(event.op), attempt: event.attempt },
      ];
    case 'llm.res':
      return answerView(event, before === '' ? event.model : before, rates);
    case 'context.full':
      return [{ type: 'ContextFull', why: event.why, tokens: event.tokens, window: event.window }];
    case 'compact.done': {
      const { why, processors, replaced = 0, window = 0, tokensBefore, tokensAfter } = event;
      return [{ type: 'ContextCompacted', why, processors, replaced, window, tokensBefore, tokensAfter }];
    }
    case 'aux.used':
      return [auxView(event, rates)];
    case 'session.titled':
      return [{ type: 'SessionTitled', title: event.title }];
    case 'limit.hit':
      return [{ type: 'LimitReached', limit: event.limit, message: event.message }];
    case 'hook.ran': {
      const { op = null, event: on, name, outcome, message } = event;
      const args = event.args === undefined ? null : inlineOf(event.args);
      return [{ type: 'HookRan', op, event: on, name, outcome, message, args }];
    }
    case 'timer.set':
      return [retryView(event, failure)];
    case 'tool.start':
      return [
        {
          type: 'ToolCallStart',
          op: event.op,
          callId: event.callId,
          tool: event.name,
          args: argsOf(calls.get(event.op)),
        },
      ];
    case 'tool.done':
      return toolView(event);
    case 'perm.ask':
      return [{ type: 'PermissionAsked', questionId: event.question.id, ...asked(event.question) }];
    case 'perm.answer':
      return [{ type: 'PermissionAnswered', questionId: event.questionId, decision: event.decision, by: event.by }];
    case 'cancel':
      return [{ type: 'CancelRequested', by: event.by }];
    case 'word':
      return [
        {
          type: 'UserWord',
          text: event.text,
          by: event.by,
          ...(event.queued === undefined ? {} : { queued: event.queued }),
        },
      ];
    case 'update':
      return [{ type: 'ToolProgress', op: '', text: event.text }];
    case 'msg.done':
      return doneView(event, mode, rates);
    // A failed try is told by the retry that follows or by the message's end.
    case 'llm.fail':
    case 'agent.spawn':
    case 'agent.placed':
    case 'agent.ev':
    case 'agent.done':
    case 'compact.fail':
    case 'claim':
    case 'session.forked':
    case 'tool.intent':
    case 'timer.fired':
    case 'files.moved':
      return [];
  }
}

function answerView(event: EventOf<'llm.res'>, model: string, rates: Rates): Bare<StreamEvent>[] {
  const step = stepOf(event.op);
  const text = textOf(inlineOf(event.parts));
  const events: Bare<StreamEvent>[] = text === '' ? [] : [{ type: 'StepText', step, text }];
  const { usage, estimated = false } = event;
  const window = { tokens: usage.input + usage.output, size: rates.windowOf(model) };
  events.push({ type: 'Usage', step, model, usage, estimated, costUsd: rates.costOfCall(model, usage), window });
  const why = cutOf(event, text);
  if (why !== null) events.push({ type: 'AnswerCut', step, why });
  return events;
}

function cutOf({ stop, calls }: EventOf<'llm.res'>, text: string): 'output_limit' | 'empty' | null {
  if (stop === 'max_tokens') return 'output_limit';
  const isEmpty = text.trim() === '' && (stop !== 'tool_calls' || calls.length === 0);
  return isEmpty && stop !== 'refusal' && stop !== 'context_full' ? 'empty' : null;
}

function changeView(from: string, to: string, failure: Failure | null): Bare<StreamEvent>[] {
  if (from === to || from === '') return [];
  const { code, message } = failure ?? { code: '', message: '' };
  return [{ type: 'ModelChanged', from, to, code, message }];
}

function retryView(event: EventOf<'timer.set'>, failure: Failure | null): Bare<StreamEvent> {
  const { why, dueAt, attempt = 0, attempts = 0 } = event;
  return { type: 'RetryScheduled', code: why, message: failure?.message ?? '', dueAt, attempt, attempts };
}

function toolView(event: EventOf<'tool.done'>): Bare<StreamEvent>[] {
  const call = { op: event.op, callId: event.callId, tool: event.name, status: event.kind };
  const events: Bare<StreamEvent>[] = [
    { type: 'ToolCallEnd', ...call, durationMs: event.durationMs },
    {
      type: 'ToolResult',
      ...call,
      description: event.description,
      text: inlineOf(event.text),
      affectedFiles: event.affectedFiles,
    },
  ];
  if (event.todos) events.push({ type: 'TodosChanged', todos: event.todos });
  return events;
}

function auxView(event: EventOf<'aux.used'>, rates: Rates): Bare<StreamEvent> {
  const { purpose, model, usage, estimated = false } = event;
  return { type: 'AuxUsage', purpose, model, usage, estimated, costUsd: rates.costOfCall(model, usage) };
}

function doneView(event: EventOf<'msg.done'>, mode: Mode, rates: Rates): Bare<StreamEvent>[] {
  const end = { status: event.status, answer: inlineOf(event.answer), steps: event.steps };
  const spending = spentOn(event.spending ?? {}, rates);
  const costUsd = event.spending === undefined ? null : rates.costOf(event.spending);
  const done: Bare<StreamEvent>[] = [
    { type: 'PersistMessage', mode, ...end },
    { type: 'AgentDone', ...end, usage: event.usage, costUsd, spending },
  ];
  return event.failure
    ? [{ type: 'AgentError', code: event.failure.code, message: event.failure.message, step: event.steps }, ...done]
    : done;
}

function liveView(event: LiveEvent): Bare<StreamEvent>[] {
  const whose = event.agent === undefined ? {} : { agent: event.agent };
  switch (event.type) {
    case 'text':
      return [{ type: 'StreamText', delta: event.delta, ...whose }];
    case 'thinking':
      return [{ type: 'StreamThinking', delta: event.delta, ...whose }];
    case 'progress':
      return [{ type: 'ToolProgress', op: event.op, text: event.text, ...whose }];
    case 'args':
      return [];
  }
}

type AgentEvent = EventOf<'agent.spawn' | 'agent.placed' | 'agent.ev' | 'agent.done'>;

const isOfAgent = (event: JournalEvent): event is AgentEvent =>
  event.type === 'agent.spawn' ||
  event.type === 'agent.placed' ||
  event.type === 'agent.ev' ||
  event.type === 'agent.done';

const stepOf = (op: string): number => Number(op.split('.')[1]);

const asked = (question: Question) => ({
  title: question.title,
  reasons: question.reasons,
  detail: question.detail,
  agent: question.agent ?? MAIN_AGENT,
  paths: question.paths ?? [],
  rule: question.rule ?? null,
  ...(question.host === undefined ? {} : { host: question.host }),
  expiresAt: question.expiresAt ?? null,
});

function argsOf(call: ToolCallPart | undefined): Json {
  if (!call) return null;
  try {
    return JSON.parse(call.rawArgs === '' ? '{}' : call.rawArgs) as Json;
  } catch {
    return call.rawArgs;
  }
}
