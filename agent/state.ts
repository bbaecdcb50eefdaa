// State is the fold of the journal (SPEC O4, O5). This file owns that fold; the waiting messages, which are in the inbox and
// not yet in the journal, are added by whoever reads both. Events come here with their payloads inline.

import { isTakenOut } from '../llm/context/history.ts';
import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { addUsage, NO_USAGE, toolCallsOf } from '../shared/messages.ts';
import { agentModeOf } from '../shared/modes.ts';
import { inlineOf } from '../shared/payload.ts';
import { afterAnswer, FIRST_PHASE } from '../shared/phase.ts';
import { NOTHING_SPENT, type Spending } from '../shared/spending.ts';
import type { Message, State } from '../shared/state.ts';
import { foldAccounts } from './accounts.ts';
import { foldAgents } from './sub-agents.ts';

/** A session before its first event. */
export const emptyState = (sid: string): State => ({
  sid,
  root: '',
  agentMode: 'ask_mode',
  messages: [],
  messageQueue: [],
  isExecuting: false,
  subAgents: [],
  agentResults: [],
  words: [],
  context: [],
  customInstructions: '',
  todos: [],
  phase: FIRST_PHASE,
  usage: NO_USAGE,
  spending: NOTHING_SPENT,
  window: null,
  request: null,
  upTo: '0-0',
});

/** The state after one more event. Pure; payloads must be inline. */
export function foldState(state: State, { id, event }: Journaled): State {
  return { ...withAccounts(applyEvent(state, event), event), upTo: id };
}

/** The accounts of session and message, which change with the same events. */
function withAccounts(state: State, event: JournalEvent): State {
  if (event.type === 'agent.ev') return withAgentAccounts(state, event);
  const { request } = state;
  const session = foldAccounts({ spending: state.spending, request }, event);
  if (session.spending === state.spending) return session.request === request ? state : { ...state, ...session };
  const spent = inMessage(state, ({ spending }) => ({ spending: foldAccounts({ spending, request }, event).spending }));
  return { ...spent, ...session };
}

/** What a subagent spends its parent's session and message have spent. */
function withAgentAccounts(state: State, { aid, event }: EventOf<'agent.ev'>): State {
  const agent = state.subAgents.find(({ id }) => id === aid);
  if (!agent) return state;
  const { request } = agent;
  const own = foldAccounts({ spending: agent.spending, request }, event);
  if (own.spending === agent.spending && own.request === request) return state;
  const subAgents = state.subAgents.map((one) => (one === agent ? { ...agent, ...own } : one));
  if (own.spending === agent.spending) return { ...state, subAgents };
  const sumIn = (spending: Spending): Spending => foldAccounts({ spending, request }, event).spending;
  const spent = inMessage(state, ({ spending }) => ({ spending: sumIn(spending) }));
  return { ...spent, subAgents, spending: sumIn(state.spending) };
}

function applyEvent(state: State, event: JournalEvent): State {
  switch (event.type) {
    case 'session.opened':
      return { ...state, root: event.root, customInstructions: event.instructions };
    case 'msg.start':
      return startMessage(state, event);
    case 'llm.res':
      return {
        ...inMessage(state, (message) => ({
          steps: message.steps + 1,
          usage: addUsage(message.usage, event.usage),
        })),
        usage: addUsage(state.usage, event.usage),
        phase: afterAnswer(state.phase, toolCallsOf(inlineOf(event.parts))),
        window: { model: state.request?.model ?? event.model, tokens: event.usage.input + event.usage.output },
      };
    case 'compact.done':
      return state.window === null ? state : { ...state, window: { ...state.window, tokens: event.tokensAfter } };
    case 'session.titled':
      return { ...state, title: event.title };
    case 'update':
      return inMessage(state, (message) => ({ updates: [...message.updates, event.text] }));
    case 'tool.done':
      return toolDone(state, event);
    case 'agent.spawn':
    case 'agent.placed':
    case 'agent.ev':
    case 'agent.done':
      return foldAgents(state, event);
    case 'word':
      return {
        ...inMessage(state, ({ words = [] }) => (event.queued === undefined ? {} : { words: [...words, event.text] })),
        words: [...state.words, { at: event.at, text: event.text }],
      };
    case 'msg.done':
      // A message that was removed while it waited has an end and no start.
      if (state.messages.at(-1)?.seq !== event.seq) return state;
      return {
        ...inMessage(state, () => ({
          status: event.status,
          ...(isTakenOut(event) ? { outside: 'declined' } : {}),
          answerSummary: inlineOf(event.answer),
          updates: [],
          endedAt: event.at,
        })),
        isExecuting: false,
        // None outlives its message, whatever ended that.
        subAgents: [],
      };
    default:
      return state;
  }
}

function startMessage(state: State, event: EventOf<'msg.start'>): State {
  const message: Message = {
    seq: event.seq,
    mid: event.mid,
    mode: event.mode,
    body: inlineOf(event.body),
    answerSummary: '',
    todos: [],
    toolHistory: [],
    updates: [],
    status: 'running',
    steps: 0,
    usage: NO_USAGE,
    spending: NOTHING_SPENT,
    ...(event.command ? { outside: 'command' } : {}),
    startedAt: event.at,
    endedAt: null,
  };
  return {
    ...state,
    agentMode: agentModeOf(event.mode),
    isExecuting: true,
    phase: FIRST_PHASE,
    words: [],
    messages: [...state.messages, message],
  };
}

function toolDone(state: State, event: EventOf<'tool.done'>): State {
  const entry = {
    op: event.op,
    toolName: event.name,
    affectedFiles: event.affectedFiles,
    description: event.description,
  };
  const todos = event.todos;
  const next = inMessage(state, (message) => ({
    toolHistory: [...message.toolHistory, entry],
    ...(todos ? { todos } : {}),
  }));
  return todos ? { ...next, todos } : next;
}

/** Changes the newest message, the only one that can be running. */
function inMessage(state: State, change: (message: Message) => Partial<Message>): State {
  const last = state.messages.at(-1);
  return last ? { ...state, messages: [...state.messages.slice(0, -1), { ...last, ...change(last) }] } : state;
}
