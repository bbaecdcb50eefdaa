// What a list of sessions shows of one: a fold of its journal that keeps no texts but the open questions', so that a thousand of them
// fit in a process that runs none. The current state is the agent machine's own, run on the journal's events without its effects.

import { type Accounts, foldAccounts } from '../../agent/accounts.ts';
import { type AskedQuestion, foldPermissions, NO_PERMISSIONS, openQuestions } from '../../agent/permissions-memory.ts';
import type { AgentEffect, AgentEvent } from '../../machines/agent/events.ts';
import { toAgentEvent } from '../../machines/agent/from-journal.ts';
import { agentMachine } from '../../machines/agent/machine.ts';
import { type Actor, startActor } from '../../machines/host.ts';
import type { EndReason, EventOf, JournalEvent, Journaled } from '../../shared/events.ts';
import { addUsage, NO_USAGE, type ToolCallPart, toolCallsOf, type Usage } from '../../shared/messages.ts';
import type { Mode } from '../../shared/modes.ts';
import { afterAnswer, FIRST_PHASE, type Phase } from '../../shared/phase.ts';
import { NOTHING_SPENT, type Rates } from '../../shared/spending.ts';

/** Where a session's newest message is, and what the session has used. */
export interface SessionCard {
  /** Number of the newest message that was started; 0 before the first. */
  readonly seq: number;
  readonly mode: Mode | null;
  readonly model: string | null;
  readonly phase: Phase;
  readonly step: number;
  /** The agent machine's state; `idle` before the first message. */
  readonly state: string;
  readonly end: EndReason | null;
  /** Null before the first answer. */
  readonly window: { readonly tokens: number; readonly size: number } | null;
  readonly usage: Usage;
  /** Null when a price is not known. */
  readonly costUsd: number | null;
  readonly todos: { readonly done: number; readonly all: number };
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface CardFold {
  /** Id of the newest event that it has. */
  upTo(): string;
  take(entry: Journaled): void;
  card(): SessionCard;
  questions(): readonly AskedQuestion[];
}

export function createCardFold(rates: Rates): CardFold {
  let upTo = '0';
  let message: EventOf<'msg.start'> | null = null;
  let actor: Actor<AgentEvent> | null = null;
  let state = 'idle';
  let model: string | null = null;
  let trail = FIRST_PHASE;
  let step = 0;
  let window: SessionCard['window'] = null;
  let usage = NO_USAGE;
  let end: EndReason | null = null;
  let endedAt: number | null = null;
  let todos = { done: 0, all: 0 };
  let accounts: Accounts = { spending: NOTHING_SPENT, request: null };
  let permissions = NO_PERMISSIONS;

  const begin = (event: EventOf<'msg.start'>): void => {
    message = event;
    model = event.model;
    trail = FIRST_PHASE;
    step = 0;
    end = null;
    endedAt = null;
    const input = { seq: event.seq, limits: event.limits, models: 1 + (event.fallbackModels?.length ?? 0) };
    actor = event.command ? null : startActor<AgentEvent, AgentEffect>(agentMachine, input, { perform() {} });
  };
  const answered = (event: EventOf<'llm.res'>): void => {
    const asked = model ?? event.model;
    trail = afterAnswer(trail, callsIn(event));
    usage = addUsage(usage, event.usage);
    window = { tokens: event.usage.input + event.usage.output, size: rates.windowOf(asked) };
  };
  const finish = (event: EventOf<'msg.done'>): void => {
    // A message that was removed while it waited has an end and no start.
    if (message?.seq !== event.seq) return;
    end = event.status;
    endedAt = event.at;
    state = actor?.state() ?? 'done';
    actor = null;
  };
  const take = (event: JournalEvent): void => {
    if (event.type === 'msg.start') begin(event);
    const agentEvent = actor === null ? null : toAgentEvent(event);
    if (actor !== null && agentEvent !== null) actor.send(agentEvent);
    if (actor !== null) state = actor.state();
    if (event.type === 'llm.req') {
      model = event.model;
      step = Number(event.op.split('.')[1]);
    }
    if (event.type === 'llm.res') answered(event);
    if (event.type === 'compact.done' && window !== null) window = { ...window, tokens: event.tokensAfter };
    if (event.type === 'tool.done' && event.todos) {
      todos = { done: event.todos.filter(({ status }) => status === 'completed').length, all: event.todos.length };
    }
    if (event.type === 'msg.done') finish(event);
    accounts = foldAccounts(accounts, event);
    permissions = foldPermissions(permissions, event);
  };

  return {
    upTo: () => upTo,
    take({ id, event }) {
      take(event);
      upTo = id;
    },
    card: () => ({
      seq: message?.seq ?? 0,
      mode: message?.mode ?? null,
      model,
      phase: trail.phase,
      step,
      state,
      end,
      window,
      usage,
      costUsd: rates.costOf(accounts.spending),
      todos,
      startedAt: message?.at ?? null,
      endedAt,
    }),
    questions: () => openQuestions(permissions),
  };
}

/** Of an answer that lies in a blob, the names alone: a list need not read it. */
const callsIn = ({ parts, calls }: EventOf<'llm.res'>): readonly ToolCallPart[] =>
  'inline' in parts
    ? toolCallsOf(parts.inline)
    : calls.map(({ callId, name }) => ({ type: 'tool_call', callId, name, rawArgs: '' }));
