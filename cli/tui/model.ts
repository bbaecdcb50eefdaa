// What the terminal shows, as plain data folded from the public stream (SPEC G1, G4, O5). A pure reducer: no terminal, no clock, no text
// cleaning (components clean what they draw). What did not change keeps its identity, so that components can cache by it.

import { MAIN_AGENT, type SettledKind } from '../../shared/events.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import type { Phase } from '../../shared/phase.ts';
import type { Todo } from '../../shared/state.ts';
import type { StreamEvent, WindowUse } from '../../shared/stream-events.ts';
import { contextLine } from '../context-line.ts';
import { describeCall } from '../describe-call.ts';
import { describeEnd } from '../describe-end.ts';
import { instructionsLine } from '../instructions-line.ts';
import type { AskedEvent } from '../question-text.ts';
import { troubleWords } from '../trouble-text.ts';

export interface TextItem {
  readonly kind: 'text' | 'thinking';
  readonly text: string;
  /** Still streams in. */
  readonly isOpen: boolean;
}

export interface ToolItem {
  readonly kind: 'tool';
  readonly op: string;
  readonly tool: string;
  readonly args: Json;
  readonly status: 'running' | SettledKind;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly description: string;
  readonly text: string;
  /** The last live lines of what runs. */
  readonly progress: readonly string[];
}

export interface NoteItem {
  readonly kind: 'note';
  /** table: lines that are cut, not wrapped. */
  readonly tone: 'dim' | 'warn' | 'bad' | 'diff' | 'table';
  readonly text: string;
}

/** What the user said while the message ran. */
export interface WordItem {
  readonly kind: 'word';
  readonly text: string;
}

export type Item = TextItem | ToolItem | NoteItem | WordItem;

/** One message of the user and what became of it; seq 0: what stands before the first. */
export interface Turn {
  readonly seq: number;
  readonly mode: Mode;
  readonly body: string;
  readonly items: readonly Item[];
  readonly isDone: boolean;
}

/** A subagent of the running message (SPEC O25). */
export interface AgentLine {
  readonly id: string;
  readonly title: string;
  readonly mode: Mode;
  readonly step: number;
  readonly doing: string;
  readonly tokens: number;
  readonly todos: readonly Todo[];
  /** Null while it works. */
  readonly end: string | null;
}

export interface View {
  readonly turns: readonly Turn[];
  /** Older turns that are no longer kept. */
  readonly folded: number;
  /** The message that runs, and since when. */
  readonly running: { readonly seq: number; readonly startedAt: number; readonly mode: Mode } | null;
  readonly activity: string;
  readonly phase: Phase | null;
  readonly model: string;
  readonly todos: readonly Todo[];
  readonly window: WindowUse | null;
  /** What the session cost: finished messages, and the calls of the running one. Null: a price is not known. */
  readonly doneUsd: number | null;
  readonly liveUsd: number | null;
  readonly isEstimated: boolean;
  readonly questions: readonly AskedEvent[];
  /** Of the newest message, in the order they began. */
  readonly agents: readonly AgentLine[];
  /** Code of the running message's error. */
  readonly failed: string | null;
  /** How the newest message ended, for what follows it. */
  readonly ended: { readonly seq: number; readonly mode: Mode; readonly status: string } | null;
}

export const EMPTY_VIEW: View = {
  turns: [],
  folded: 0,
  running: null,
  activity: '',
  phase: null,
  model: '',
  todos: [],
  window: null,
  doneUsd: 0,
  liveUsd: 0,
  isEstimated: false,
  questions: [],
  agents: [],
  failed: null,
  ended: null,
};

/** Turns beyond this are folded away, down to the half of it, when the next message begins: a long session stays cheap to draw. */
const MAX_TURNS = 60;
const PROGRESS_LINES = 6;
const MAX_RESULT_CHARS = 40_000;

export function reduce(view: View, event: StreamEvent): View {
  if (isOfAgent(event)) return reduceAgent(view, event);
  switch (event.type) {
    case 'AgentSpawned':
    case 'AgentProgress':
    case 'AgentEnded':
      return reduceAgent(view, event);
    case 'UserWord':
      return addItem(closeText(view), { kind: 'word', text: event.text });
    case 'SessionOpened': {
      const instructions = event.instructions.length > 0 ? `instructions: ${instructionsLine(event)}` : '';
      return instructions === '' ? view : addItem(view, { kind: 'note', tone: 'dim', text: instructions });
    }
    case 'MessageStarted':
      return begin(view, event);
    case 'StepStarted':
      return { ...closeText(view), activity: event.attempt > 1 ? `thinking (try ${event.attempt})` : 'thinking' };
    case 'StreamText':
      return stream(view, 'text', event.delta);
    case 'StreamThinking':
      return stream(view, 'thinking', event.delta);
    case 'StepText':
      return wholeText(view, event.text);
    case 'ToolCallStart':
      return { ...addItem(closeText(view), startedTool(event)), activity: event.tool };
    case 'ToolProgress':
      return event.op === ''
        ? addItem(view, { kind: 'note', tone: 'dim', text: event.text })
        : changeTool(view, event.op, (tool) => ({
            ...tool,
            progress: [...tool.progress, ...event.text.split('\n').filter((line) => line.trim() !== '')].slice(
              -PROGRESS_LINES,
            ),
          }));
    case 'ToolCallEnd':
      return changeTool(view, event.op, (tool) => ({ ...tool, status: event.status, durationMs: event.durationMs }));
    case 'ToolResult':
      return changeTool(view, event.op, (tool) => ({
        ...tool,
        status: event.status,
        description: event.description,
        text: event.text.slice(0, MAX_RESULT_CHARS),
      }));
    case 'PhaseChanged':
      return { ...view, phase: event.phase };
    case 'TodosChanged':
      return { ...view, todos: event.todos };
    case 'Usage':
    case 'AuxUsage':
      return spent(view, event);
    case 'PermissionAsked':
      return view.questions.some(({ questionId }) => questionId === event.questionId)
        ? view
        : { ...view, questions: [...view.questions, event] };
    case 'PermissionAnswered':
      return answered(view, event);
    case 'AgentDone':
      return finish(view, event);
    case 'RetryScheduled':
    case 'ModelChanged':
    case 'AnswerCut':
    case 'ContextFull':
    case 'ContextCompacted':
    case 'LimitReached':
    case 'HookRan':
    case 'CancelRequested':
    case 'AgentError':
      return told(view, event);
    // What says nothing that is not shown already, and types that are new: a reader ignores those.
    default:
      return view;
  }
}

/** Its questions and what it spends are everybody's; the rest is told on the agent's own line. */
function isOfAgent(event: StreamEvent): boolean {
  const isShared = event.type === 'PermissionAsked' || event.type === 'PermissionAnswered';
  return 'agent' in event && event.agent !== undefined && event.agent !== MAIN_AGENT && !isShared;
}

function reduceAgent(view: View, event: StreamEvent): View {
  const change = (id: string, change: (agent: AgentLine) => AgentLine): View => ({
    ...view,
    agents: view.agents.map((agent) => (agent.id === id ? change(agent) : agent)),
  });
  const id = 'agent' in event ? (event.agent ?? '') : '';
  switch (event.type) {
    case 'AgentSpawned': {
      const { title, mode } = event;
      const agent = { id, title, mode, step: 0, doing: 'starting', tokens: 0, todos: [], end: null };
      return { ...view, agents: [...view.agents.filter((other) => other.id !== id), agent] };
    }
    case 'AgentProgress':
      return change(id, (agent) => ({ ...agent, step: event.step, doing: event.doing, tokens: event.tokens }));
    case 'AgentEnded':
      return change(id, (agent) => ({ ...agent, step: event.steps, doing: '', end: event.end }));
    case 'ToolCallStart':
      return change(id, (agent) => ({ ...agent, doing: describeCall(event.tool, event.args) }));
    case 'StreamText':
    case 'StreamThinking':
      return view.agents.some((agent) => agent.id === id && agent.doing !== 'thinking' && agent.doing !== 'answering')
        ? change(id, (agent) => ({ ...agent, doing: event.type === 'StreamText' ? 'answering' : 'thinking' }))
        : view;
    case 'TodosChanged':
      return change(id, (agent) => ({ ...agent, todos: event.todos }));
    case 'Usage':
    case 'AuxUsage':
      return { ...spent(view, event), window: view.window, model: view.model };
    default:
      return view;
  }
}

/** Adds a line that is no event: what a command of the user found, or what went wrong on this side. */
export const addNote = (view: View, text: string, tone: NoteItem['tone'] = 'dim'): View =>
  addItem(view, { kind: 'note', tone, text });

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { readonly type: T }>;

function begin(view: View, { seq, mode, body, model, at }: EventOf<'MessageStarted'>): View {
  const older = view.turns.length >= MAX_TURNS ? view.turns.slice(-MAX_TURNS / 2) : view.turns;
  return {
    ...view,
    turns: [...older, { seq, mode, body, items: [], isDone: false }],
    folded: view.folded + view.turns.length - older.length,
    running: { seq, startedAt: at, mode },
    activity: 'starting',
    phase: 'explore',
    model: model === '' ? view.model : model,
    liveUsd: 0,
    agents: [],
    failed: null,
    ended: null,
  };
}

function finish(view: View, event: EventOf<'AgentDone'>): View {
  // It was taken out of the queue: it never stood on the screen.
  if (event.status === 'cancelled' && view.running?.seq !== event.seq) return view;
  const closed = withAnswer(closeText(view), event.answer);
  const isGood = event.status === 'completed';
  const line = describeEnd(event, view.failed);
  const noted = addItem(closed, { kind: 'note', tone: isGood ? 'dim' : 'warn', text: line });
  const last = noted.turns.at(-1);
  const costUsd = event.costUsd ?? view.liveUsd;
  return {
    ...noted,
    turns: last === undefined ? noted.turns : [...noted.turns.slice(0, -1), { ...last, isDone: true }],
    running: null,
    activity: '',
    doneUsd: view.doneUsd === null || costUsd === null ? null : view.doneUsd + costUsd,
    liveUsd: 0,
    questions: view.questions.filter(({ session, seq }) => session !== event.session || seq !== event.seq),
    ended: { seq: event.seq, mode: last?.mode ?? 'ask', status: event.status },
  };
}

/** The answer stands there already when it was streamed or told as a step's text. */
function withAnswer(view: View, answer: string): View {
  const texts = (view.turns.at(-1)?.items ?? []).filter((item) => item.kind === 'text').map(({ text }) => text);
  const isShown = answer.trim() === '' || texts.some((_, from) => answer.startsWith(texts.slice(from).join('')));
  return isShown ? view : addItem(view, { kind: 'text', text: answer, isOpen: false });
}

function stream(view: View, kind: TextItem['kind'], delta: string): View {
  // Late chunks of a message that is done are shown with its whole text.
  if (view.running === null) return view;
  const last = view.turns.at(-1)?.items.at(-1);
  const next = { ...view, activity: kind === 'text' ? 'answering' : 'thinking' };
  if (last?.kind === kind && last.isOpen) return replaceLast(next, { ...last, text: last.text + delta });
  return addItem(closeText(next), { kind, text: delta, isOpen: true });
}

/** The whole text of a step takes the place of what was streamed of it: chunks may have been lost on the way. */
function wholeText(view: View, text: string): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => item.kind === 'text' && item.isOpen);
  const whole: TextItem = { kind: 'text', text, isOpen: false };
  if (at < 0) return addItem(closeText(view), whole);
  return withItems(view, items.with(at, whole));
}

/** What streamed is as long as it will get. */
function closeText(view: View): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => (item.kind === 'text' || item.kind === 'thinking') && item.isOpen);
  const item = items[at];
  return item?.kind === 'text' || item?.kind === 'thinking'
    ? withItems(view, items.with(at, { ...item, isOpen: false }))
    : view;
}

const startedTool = ({ op, tool, args, at }: EventOf<'ToolCallStart'>): ToolItem => ({
  kind: 'tool',
  op,
  tool,
  args,
  status: 'running',
  startedAt: at,
  durationMs: 0,
  description: '',
  text: '',
  progress: [],
});

function changeTool(view: View, op: string, change: (tool: ToolItem) => ToolItem): View {
  const items = view.turns.at(-1)?.items ?? [];
  const at = items.findLastIndex((item) => item.kind === 'tool' && item.op === op);
  const item = items[at];
  return item?.kind === 'tool' ? withItems(view, items.with(at, change(item))) : view;
}

function spent(view: View, event: EventOf<'Usage'> | EventOf<'AuxUsage'>): View {
  const liveUsd = view.liveUsd === null || event.costUsd === null ? null : view.liveUsd + event.costUsd;
  const next = { ...view, liveUsd, isEstimated: view.isEstimated || event.estimated };
  return event.type === 'Usage' ? { ...next, window: event.window, model: event.model } : next;
}

function answered(view: View, event: EventOf<'PermissionAnswered'>): View {
  const question = view.questions.find(({ questionId }) => questionId === event.questionId);
  if (question === undefined) return view;
  const next = { ...view, questions: view.questions.filter((other) => other !== question) };
  const isNo = event.decision === 'deny';
  // What was allowed shows by what it does.
  return isNo || event.by !== 'terminal'
    ? addItem(next, {
        kind: 'note',
        tone: isNo ? 'warn' : 'dim',
        text: `${event.decision.replace('_', ' for ')}, by ${event.by}: ${question.title}`,
      })
    : next;
}

type Told =
  | 'RetryScheduled'
  | 'ModelChanged'
  | 'AnswerCut'
  | 'ContextFull'
  | 'ContextCompacted'
  | 'LimitReached'
  | 'HookRan'
  | 'CancelRequested'
  | 'AgentError';

function told(view: View, event: EventOf<Told>): View {
  const note = (tone: NoteItem['tone'], text: string, activity = view.activity): View => ({
    ...addItem(view, { kind: 'note', tone, text }),
    activity,
  });
  switch (event.type) {
    case 'RetryScheduled': {
      const tries = event.attempts === 0 ? '' : ` (try ${event.attempt} of ${event.attempts})`;
      const inS = Math.max(0, Math.round((event.dueAt - event.at) / 1000));
      return note('warn', `${troubleWords(event.code)}: trying again in ${inS} s${tries}`, 'waiting to try again');
    }
    case 'ModelChanged':
      return {
        ...note('warn', `${event.from}: ${troubleWords(event.code)}; asking ${event.to} instead`),
        model: event.to,
      };
    case 'AnswerCut':
      return note(
        'warn',
        event.why === 'empty'
          ? 'the answer was empty; the model is asked to go on'
          : 'the answer was cut off at the output limit; the model is asked to go on',
      );
    case 'ContextFull':
      return { ...view, activity: 'making the context smaller' };
    case 'ContextCompacted':
      return {
        ...note('warn', contextLine(event)),
        window: view.window && { ...view.window, tokens: event.tokensAfter },
      };
    case 'LimitReached':
      return note('warn', event.message);
    case 'HookRan':
      return note(
        event.outcome === 'noted' ? 'dim' : 'warn',
        `hook ${event.name} (${event.event}) ${event.outcome}: ${event.message}`,
      );
    case 'CancelRequested':
      return note('warn', `cancelling, asked by ${event.by}`, 'cancelling');
    case 'AgentError':
      return {
        ...note('bad', `${event.step === 0 ? '' : `step ${event.step}: `}${event.code}: ${event.message}`),
        failed: event.code,
      };
  }
}

function addItem(view: View, item: Item): View {
  const last = view.turns.at(-1);
  if (last === undefined) {
    return { ...view, turns: [{ seq: 0, mode: 'ask', body: '', items: [item], isDone: true }] };
  }
  return withItems(view, [...last.items, item]);
}

function replaceLast(view: View, item: Item): View {
  return withItems(view, (view.turns.at(-1)?.items ?? []).with(-1, item));
}

function withItems(view: View, items: readonly Item[]): View {
  const last = view.turns.at(-1);
  return last === undefined ? view : { ...view, turns: [...view.turns.slice(0, -1), { ...last, items }] };
}
