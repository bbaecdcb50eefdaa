// Folds the public stream of a session into what the terminal shows (view.ts). A pure reducer: no terminal, no clock, no text cleaning
// (components clean what they draw). What did not change keeps its identity, so that components can cache by it.

import type { StreamEvent } from '../../shared/stream-events.ts';
import { describeEnd } from '../describe-end.ts';
import { instructionsLine } from '../instructions-line.ts';
import type { NoteItem, ToolItem, View } from './view.ts';
import { isOfAgent, reduceAgent, spent } from './view-agents.ts';
import { addItem, changeTool, closeText, stream, wholeText, withAnswer } from './view-items.ts';
import { told } from './view-notes.ts';

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

/** Adds a line that is no event: what a command of the user found, or what went wrong on this side. */
export const addNote = (view: View, text: string, tone: NoteItem['tone'] = 'dim'): View =>
  addItem(view, { kind: 'note', tone, text });

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { readonly type: T }>;

function begin(view: View, { seq, mode, body, model, at, images = [] }: EventOf<'MessageStarted'>): View {
  const older = view.turns.length >= MAX_TURNS ? view.turns.slice(-MAX_TURNS / 2) : view.turns;
  return {
    ...view,
    turns: [...older, { seq, mode, body, images, items: [], isDone: false }],
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

const ANSWERS: Readonly<Record<string, string>> = {
  allow: 'yes',
  allow_session: 'yes, for this session',
  allow_always: 'yes, always',
  deny: 'no',
};

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
        text: `${event.by === 'terminal' ? 'you said' : `${event.by} said`} ${ANSWERS[event.decision] ?? event.decision}: ${question.title}`,
      })
    : next;
}
