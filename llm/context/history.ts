// The conversation as the fold of the journal: which model messages a session has so far. Pure and append-only, so that
// every prompt begins with the whole previous one (ARCHITECTURE 9). Events come with their payloads inline.
//
// Invariant: every tool call of the history has exactly one result, in the order of the calls. A call that a crash, a
// limit or a cancel left without one gets a result that says so when the next user message begins (DURABILITY 5.5).

import { type EventOf, inlineOf, type JournalEvent } from '../../shared/events.ts';
import type { AssistantPart, ModelMessage, ToolCallPart, ToolResultPart } from '../../shared/messages.ts';
import { textOf, toolCallsOf } from '../../shared/messages.ts';

export interface History {
  readonly messages: readonly ModelMessage[];
  /** What happened between messages and the planner must know: told with the next one. */
  readonly notes: readonly string[];
  /** Calls of the newest answer and the results that have come for them. */
  readonly open: OpenStep | null;
}

interface OpenStep {
  readonly calls: readonly ToolCallPart[];
  readonly results: Readonly<Record<string, ToolResultPart>>;
}

export const EMPTY_HISTORY: History = { messages: [], notes: [], open: null };

/** Asks the model to go on where its answer was cut off; calls in it were not run. */
const CUT_OFF =
  '[Odin: your answer was cut off at the output limit, and no tool call in it was run. Go on from where it ended. Make calls smaller: write a large file in several parts, give long texts in several answers.]';
const SAID_NOTHING =
  '[Odin: your answer was empty. Go on with the task, or say in words that it is done and what came of it.]';

const NOT_RUN = 'Not run: the message ended before this call was made. Call it again if it is still needed.';

/** The history after one more event. */
export function foldHistory(history: History, event: JournalEvent): History {
  switch (event.type) {
    case 'msg.start':
      return event.command ? history : addQuestion(history, inlineOf(event.body));
    case 'files.moved':
      return { ...history, notes: [...history.notes, movedNote(event)] };
    case 'llm.req':
      return event.facts === undefined ? history : withFacts(history, event.facts);
    case 'llm.res':
      return addAnswer(history, event);
    case 'tool.done':
      return addResult(history, event);
    case 'compact.done':
      return { ...history, messages: inlineOf(event.messages), open: null };
    default:
      return history;
  }
}

function addQuestion(history: History, body: string): History {
  const text = [...history.notes, body].join('\n\n');
  return { messages: [...closeStep(history).messages, { role: 'user', text }], notes: [], open: null };
}

const movedNote = ({ direction, paths }: EventOf<'files.moved'>): string =>
  `[The user has ${direction === 'undo' ? 'undone' : 'redone'} earlier changes of these files: ${paths.join(', ')}. Read them again before you change them.]`;

function addAnswer(history: History, event: EventOf<'llm.res'>): History {
  // What did not fit is asked for again, behind a compacted history.
  if (event.stop === 'context_full') return history;
  const parts = sendable(inlineOf(event.parts), event.stop === 'tool_calls');
  const isEmpty = textOf(parts).trim() === '' && toolCallsOf(parts).length === 0;
  const note = event.stop === 'max_tokens' ? CUT_OFF : isEmpty && event.stop !== 'refusal' ? SAID_NOTHING : null;
  if (note !== null) {
    const said: readonly ModelMessage[] = isEmpty ? [] : [{ role: 'assistant', parts }];
    return { ...history, messages: [...history.messages, ...said, { role: 'user', text: note }], open: null };
  }
  if (parts.length === 0) return history;
  const calls = toolCallsOf(parts);
  return {
    ...history,
    messages: [...history.messages, { role: 'assistant', parts }],
    open: calls.length > 0 ? { calls, results: {} } : null,
  };
}

/** A call that was cut off never ran, and its arguments may be half: it is not part of what was said. */
const sendable = (parts: readonly AssistantPart[], withCalls: boolean): readonly AssistantPart[] =>
  parts.filter((part) => (part.type === 'tool_call' ? withCalls : part.type !== 'text' || part.text !== ''));

function addResult(history: History, event: EventOf<'tool.done'>): History {
  if (!history.open) return history;
  const result: ToolResultPart = {
    callId: event.callId,
    name: event.name,
    text: inlineOf(event.text),
    isError: event.kind !== 'ok',
  };
  const open = { ...history.open, results: { ...history.open.results, [event.callId]: result } };
  return Object.keys(open.results).length === open.calls.length
    ? closeStep({ ...history, open })
    : { ...history, open };
}

function closeStep(history: History): History {
  const { open } = history;
  if (!open) return history;
  const results = open.calls.map(
    (call) => open.results[call.callId] ?? { callId: call.callId, name: call.name, text: NOT_RUN, isError: true },
  );
  return { ...history, messages: [...history.messages, { role: 'tool', results }], open: null };
}

function withFacts(history: History, facts: string): History {
  const last = history.messages.at(-1);
  if (!last || last.role === 'assistant') return history;
  return { ...history, messages: [...history.messages.slice(0, -1), { ...last, facts }] };
}
