// What a list of sessions shows of one: a fold of its journal that keeps no texts but the open questions', so that a thousand of them
// fit in a process that runs none. Which state the agent machine is in is session-state.ts: it is told of sessions that are looked at.

import { type Accounts, foldAccounts } from '../../agent/accounts.ts';
import {
  type AskedQuestion,
  foldPermissions,
  NO_PERMISSIONS,
  openQuestions,
  type PermissionMemory,
} from '../../agent/permissions-memory.ts';
import type { EventOf, JournalEvent, Journaled } from '../../shared/events.ts';
import type { EndReason } from '../../shared/limits.ts';
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
  /** Id of the event before the newest message's start, '0' before the first: from there on its state is told. */
  beforeMessage(): string;
  take(entry: Journaled): void;
  card(): SessionCard;
  questions(): readonly AskedQuestion[];
}

export function createCardFold(rates: Rates): CardFold {
  let upTo = '0';
  let beforeMessage = '0';
  let message: Pick<EventOf<'msg.start'>, 'seq' | 'mode' | 'at'> | null = null;
  let model: string | null = null;
  let trail = FIRST_PHASE;
  let step = 0;
  let window: SessionCard['window'] = null;
  let usage = NO_USAGE;
  let end: EndReason | null = null;
  let endedAt: number | null = null;
  let todos = { done: 0, all: 0 };
  let accounts: Accounts = { spending: NOTHING_SPENT, request: null };
  /** The open requests of the subagents at work. */
  const requests = new Map<string, Accounts['request']>();
  let permissions = NO_PERMISSIONS;

  const begin = (event: EventOf<'msg.start'>): void => {
    const { seq, mode, at } = event;
    message = { seq, mode, at };
    beforeMessage = upTo;
    model = event.model;
    trail = FIRST_PHASE;
    step = 0;
    end = null;
    endedAt = null;
  };
  const answered = (event: EventOf<'llm.res'>): void => {
    const asked = model ?? event.model;
    trail = afterAnswer(trail, callsIn(event));
    usage = addUsage(usage, event.usage);
    window = { tokens: event.usage.input + event.usage.output, size: rates.windowOf(asked) };
  };
  /** What a subagent spends its session has spent. */
  const spentByAgent = ({ aid, event }: EventOf<'agent.ev'>): void => {
    const { spending, request } = foldAccounts(
      { spending: accounts.spending, request: requests.get(aid) ?? null },
      event,
    );
    requests.set(aid, request);
    accounts = { ...accounts, spending };
  };
  const finish = (event: EventOf<'msg.done'>): void => {
    // A message that was removed while it waited has an end and no start.
    if (message?.seq !== event.seq) return;
    end = event.status;
    endedAt = event.at;
  };
  const take = (event: JournalEvent): void => {
    if (event.type === 'msg.start') begin(event);
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
    if (event.type === 'agent.ev') spentByAgent(event);
    else accounts = foldAccounts(accounts, event);
    if (event.type === 'agent.done') requests.delete(event.aid);
    // Of what the fold remembers, a list needs what is open: not what was granted or read.
    if (isOfQuestions(event)) permissions = { ...NO_PERMISSIONS, ...asked(foldPermissions(permissions, event)) };
  };

  return {
    upTo: () => upTo,
    beforeMessage: () => beforeMessage,
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

const asked = ({ asked: open, answers }: PermissionMemory): Pick<PermissionMemory, 'asked' | 'answers'> => ({
  asked: open,
  answers,
});

function isOfQuestions(event: JournalEvent): boolean {
  switch (event.type) {
    case 'msg.start':
    case 'msg.done':
    case 'perm.ask':
    case 'perm.answer':
      return true;
    case 'agent.ev':
      return isOfQuestions(event.event);
    default:
      return false;
  }
}

/** Of an answer that lies in a blob, the names alone: a list need not read it. */
const callsIn = ({ parts, calls }: EventOf<'llm.res'>): readonly ToolCallPart[] =>
  'inline' in parts
    ? toolCallsOf(parts.inline)
    : calls.map(({ callId, name }) => ({ type: 'tool_call', callId, name, rawArgs: '' }));
