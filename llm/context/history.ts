// The conversation as the fold of the journal: which model messages a session has so far. Pure and append-only, so that
// every prompt begins with the whole previous one (ARCHITECTURE 9). Events come with their payloads inline.
//
// Invariant: every tool call of the history has exactly one result, in the order of the calls. A call that a crash, a
// limit or a cancel left without one gets a result that says so when the next user message begins (DURABILITY 5.5).

import type { EventOf, JournalEvent } from '../../shared/events.ts';
import type { ImageRef } from '../../shared/images.ts';
import type { AssistantPart, ModelMessage, ToolCallPart, ToolResultPart } from '../../shared/messages.ts';
import { textOf, toolCallsOf } from '../../shared/messages.ts';
import { inlineOf } from '../../shared/payload.ts';
import { withoutTask } from './opening.ts';

export interface History {
  readonly messages: readonly ModelMessage[];
  /** What happened between messages and the planner must know: told with the next one. */
  readonly notes: readonly string[];
  /** Calls of the newest answer and the results that have come for them. */
  readonly open: OpenStep | null;
  /** The message that runs, for as long as its exchange may have to be taken out again. */
  readonly running?: Exchange;
}

interface Exchange {
  /** Place of its question among the messages. */
  readonly at: number;
  /** The notes that were told with it. */
  readonly notes: readonly string[];
  /** Files that its calls have changed. */
  readonly changed: readonly string[];
  /** The opening of a compacted conversation, when the question stands in the same message behind it. */
  readonly opening?: string;
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
      if (event.command) return event.command.type === 'compact' ? closeStep(history) : history;
      return addQuestion(history, inlineOf(event.body), event.images);
    case 'files.moved':
      return { ...history, notes: [...history.notes, movedNote(event)] };
    case 'llm.req':
      return event.facts === undefined ? history : withFacts(history, event.facts);
    case 'llm.res':
      return addAnswer(history, event);
    case 'tool.done':
      return addResult(history, event);
    case 'compact.done':
      return compacted(history, inlineOf(event.messages));
    case 'msg.done':
      return endMessage(history, event);
    default:
      return history;
  }
}

function addQuestion(history: History, body: string, images: readonly ImageRef[] | undefined): History {
  const { notes } = history;
  const text = [...notes, body].join('\n\n');
  const { messages } = closeStep(history);
  return {
    messages: [...messages, { role: 'user', text, ...(images === undefined ? {} : { images }) }],
    notes: [],
    open: null,
    running: { at: messages.length, notes, changed: [] },
  };
}

/**
 * Whether the message's exchange is taken out of what is sent from here on: some models decline everything while what they have declined
 * stands in the conversation.
 */
export const isTakenOut = (event: JournalEvent): boolean =>
  event.type === 'msg.done' && event.failure?.code === 'refusal';

function endMessage({ running, ...history }: History, event: EventOf<'msg.done'>): History {
  if (running === undefined || !isTakenOut(event)) return history;
  const before = history.messages.slice(0, running.at);
  const last = before.at(-1);
  // Two messages of the user in a row are not taken by every server: what has no answer is told with the next question.
  const unanswered = last?.role === 'user' ? [withoutTask(last.text)] : [];
  const opening = running.opening === undefined ? [] : [running.opening];
  const notes = [...unanswered, ...opening, ...running.notes.filter((note) => note !== DECLINED), DECLINED];
  return {
    messages: last?.role === 'user' ? before.slice(0, -1) : before,
    notes: running.changed.length === 0 ? notes : [...notes, changedNote(running.changed)],
    open: null,
  };
}

const DECLINED = '[The model declined an earlier message; it was taken out.]';

const changedNote = (paths: readonly string[]): string =>
  `[What it had changed in these files stays: ${paths.join(', ')}. Read them again before you rely on them.]`;

/** The question of the message that runs is found again among what stays; else all but the opening belongs to that message. */
function compacted({ running, ...history }: History, messages: readonly ModelMessage[]): History {
  const next = { ...history, messages, open: null };
  const question = running === undefined ? undefined : history.messages[running.at];
  if (running === undefined || question?.role !== 'user') return next;
  const { opening: _, ...rest } = running;
  const text = running.opening === undefined ? question.text : question.text.slice(running.opening.length + 2);
  const at = messages.findLastIndex((message) => message.role === 'user' && message.text.endsWith(text));
  const found = messages[at];
  if (found?.role !== 'user') return { ...next, running: { ...rest, at: Math.min(1, messages.length) } };
  const opening = found.text === text ? {} : { opening: found.text.slice(0, -(text.length + 2)) };
  return { ...next, running: { ...rest, ...opening, at } };
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

function addResult(before: History, event: EventOf<'tool.done'>): History {
  const history = withChanged(before, event);
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

function withChanged(history: History, { affectedFiles, data, kind }: EventOf<'tool.done'>): History {
  const { running } = history;
  const isChange = kind === 'ok' && typeof data === 'object' && data !== null && 'afterHash' in data;
  if (running === undefined || !isChange) return history;
  return { ...history, running: { ...running, changed: [...new Set([...running.changed, ...affectedFiles])] } };
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
