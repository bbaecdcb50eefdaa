// One message run again from the journal, without a model and without effects: the agent machine gets the events that it got then,
// and what it asks for must be what the journal shows was done. The first thing that is not is the difference.

import type { AgentEffect, AgentEvent } from '../machines/agent/events.ts';
import { toAgentEvent } from '../machines/agent/from-journal.ts';
import { agentMachine } from '../machines/agent/machine.ts';
import { startActor } from '../machines/host.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import type { OpId } from '../shared/ids.ts';
import { type ReplayedCall, replayCall } from './replay-call.ts';

export interface Mismatch {
  /** What the machines ask for at this point. */
  readonly expected: string;
  /** What the journal has. */
  readonly found: string;
}

export interface ReplayedMessage {
  /** Takes the next event of the message; null when it is what was to be expected. */
  take(event: JournalEvent): Mismatch | null;
  /** What the machine has asked for and the journal has no end of; null when the message is done. */
  open(): string | null;
  /** Ends the machine has come to; null while it has not. */
  finish(): Finish | null;
}

export type Finish = Extract<AgentEffect, { type: 'finish' }>;

/** Ends that Odin gives a message without asking its machine: a fault of its own, a journal that was lost, one crash too many. */
const OUTSIDE: ReadonlySet<string> = new Set(['bug', 'internal_error', 'journal_rewound', 'process_crashed']);

export function replayMessage(start: EventOf<'msg.start'>): ReplayedMessage {
  const models = [start.model, ...(start.fallbackModels ?? [])];
  let asked: AgentEffect | null = null;
  let finish: Finish | null = null;
  let requested = false;
  let atWork: Extract<AgentEffect, { type: 'callModel' | 'compact' }> | null = null;
  const calls = new Map<OpId, ReplayedCall>();
  const settled = new Set<OpId>();

  const perform = (effect: AgentEffect): void => {
    if (effect.type === 'finish') finish = effect;
    if (effect.type === 'callModel') requested = false;
    if (effect.type === 'callModel' || effect.type === 'compact') atWork = effect;
    if (effect.type !== 'abortModel' && effect.type !== 'abortTools' && effect.type !== 'noteUnexpected')
      asked = effect;
  };
  const input = { seq: start.seq, limits: start.limits, models: models.length };
  const actor = startActor<AgentEvent, AgentEffect>(agentMachine, input, { perform });

  /** Whether the effect that was asked for last is of this type and about this operation. */
  const isAsked = (type: AgentEffect['type'], op: OpId): boolean =>
    asked?.type === type && 'op' in asked && asked.op === op;
  /** Or was, when the message came to its end: what was under way then still comes back. */
  const isOpen = (type: 'callModel' | 'compact', op: OpId): boolean =>
    isAsked(type, op) || (finish !== null && atWork?.type === type && atWork.op === op);
  const isCall = (op: OpId): boolean =>
    asked?.type === 'startTools' ? asked.calls.some((call) => call.op === op) : settled.has(op);
  const differs = (found: string): Mismatch => ({ expected: describe(asked, models), found });

  const check = (event: JournalEvent): Mismatch | null => {
    switch (event.type) {
      case 'claim':
        // What was under way is done anew, or settled by the resume.
        calls.clear();
        return null;
      case 'llm.req': {
        const right =
          isAsked('callModel', event.op) &&
          asked?.type === 'callModel' &&
          asked.attempt === event.attempt &&
          models[asked.model] === event.model;
        requested = right;
        return right ? null : differs(`a request ${event.op}, try ${event.attempt}, to ${event.model}`);
      }
      case 'llm.res':
        return isOpen('callModel', event.op) && requested
          ? null
          : differs(`an answer to ${event.op}, which was not asked for`);
      case 'llm.fail':
      case 'context.full':
        return isOpen('callModel', event.op) ? null : differs(`${event.type} of ${event.op}`);
      case 'compact.done':
      case 'compact.fail':
        return start.command || isOpen('compact', event.op) ? null : differs(`${event.type} of ${event.op}`);
      case 'timer.set':
        return isAsked('scheduleRetry', event.op) ? null : differs(`a timer for ${event.op}`);
      case 'tool.start':
        if (!isCall(event.op) || settled.has(event.op)) return differs(`a start of ${event.name} (${event.op})`);
        calls.set(event.op, replayCall(event.op));
        return null;
      case 'perm.ask':
        calls.get(event.op)?.asked(event);
        return null;
      case 'perm.answer':
        calls.get(event.op)?.answered(event);
        return null;
      case 'tool.intent':
        calls.get(event.op)?.intended();
        return null;
      case 'tool.done':
        return checkResult(event);
      case 'msg.done':
        return checkEnd(event);
      default:
        return null;
    }
  };

  const checkResult = ({ op, name, kind }: EventOf<'tool.done'>): Mismatch | null => {
    if (settled.has(op)) return differs(`a second result of ${name} (${op})`);
    if (!isCall(op)) return differs(`a result of ${name} (${op}), which was not called`);
    settled.add(op);
    const end = calls.get(op)?.settled(kind) ?? kind;
    return end === kind ? null : { expected: `${name} (${op}) to end as ${end}`, found: `it ended as ${kind}` };
  };

  const checkEnd = (event: EventOf<'msg.done'>): Mismatch | null => {
    if (start.command || OUTSIDE.has(event.failure?.code ?? '')) return null;
    const found = `the end: ${event.status} after ${event.steps} steps`;
    return finish?.status === event.status && finish.steps === event.steps ? null : differs(found);
  };

  return {
    take(event) {
      const mismatch = check(event);
      if (mismatch) return mismatch;
      const agentEvent = start.command ? null : toAgentEvent(event);
      if (agentEvent) actor.send(agentEvent);
      return null;
    },
    open: () => (finish === null ? describe(asked, models) : 'the end of the message'),
    finish: () => finish,
  };
}

function describe(effect: AgentEffect | null, models: readonly string[]): string {
  switch (effect?.type) {
    case 'callModel':
      return `a request ${effect.op}, try ${effect.attempt}, to ${models[effect.model]}, and its answer`;
    case 'startTools':
      return `the results of ${effect.calls.map(({ name, op }) => `${name} (${op})`).join(', ')}`;
    case 'compact':
      return `a smaller context (${effect.op}: ${effect.why})`;
    case 'scheduleRetry':
      return `a timer for ${effect.op}`;
    case 'finish':
      return `the end: ${effect.status} after ${effect.steps} steps`;
    default:
      return 'nothing';
  }
}
