// The stream for people, as plain lines (SPEC G1): progress on stderr, the answer once on stdout. Where stdout is a terminal the text
// streams there as it comes; else stdout gets the final answer alone, as the model wrote it. Keeps what belongs to one line until it is
// whole: parallel calls never mix. No I/O but its two sinks, no timers, no clock.

import { cleanLine, cleanText } from '../shared/clean-text.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import { createAgentLines } from './agent-lines.ts';
import { contextLine } from './context-line.ts';
import { describeCall } from './describe-call.ts';
import { describeEnd } from './describe-end.ts';
import { describeResult } from './describe-result.ts';
import { instructionsLine } from './instructions-line.ts';
import { createMeter } from './meter.ts';
import { PHASE_WORDS } from './phase-words.ts';
import { questionLines } from './question-text.ts';
import { createScreen, type ScreenOptions } from './screen.ts';
import { createStepText } from './step-text.ts';
import { troubleWords } from './trouble-text.ts';

export interface Renderer {
  show(event: StreamEvent): void;
}

export interface PlainOptions extends ScreenOptions {
  /** Print what the user asked, too: where others ask, or several messages follow one another. */
  readonly showPrompts: boolean;
}

type EventOfType<T extends StreamEvent['type']> = Extract<StreamEvent, { readonly type: T }>;

/** What is known so far of a call whose line is not printed yet. */
interface OpenCall {
  readonly title: string;
  readonly end?: EventOfType<'ToolCallEnd'>;
  readonly result?: EventOfType<'ToolResult'>;
}

const TODO_MARKS = { pending: '☐', in_progress: '◐', completed: '☑' } as const;
const MAX_DESCRIPTION = 160;

export function createPlainRenderer(options: PlainOptions): Renderer {
  const { paint } = options;
  const calls = new Map<string, OpenCall>();
  const screen = createScreen(options);
  const shown: { texts: readonly string[] } = { texts: [] };
  const stepText = (isOpen: boolean) => createStepText({ ...options, screen, shown, isOpen });
  let text = stepText(false);
  let failed: string | null = null;
  const meter = createMeter();
  const agents = createAgentLines({ screen, paint });

  function toolLine(op: string, more: Partial<OpenCall>, tool: string): void {
    const call = { ...(calls.get(op) ?? { title: cleanLine(tool) }), ...more };
    calls.set(op, call);
    if (call.end === undefined || call.result === undefined) return;
    calls.delete(op);
    const isGood = call.result.status === 'ok';
    const description = cleanLine(describeResult(call.result.description), MAX_DESCRIPTION);
    const status = isGood ? '' : `${call.result.status}: `;
    const line = `${paint(isGood ? 'green' : 'red', '●')} ${call.title} → ${status}${description}`;
    screen.line(`${line} ${paint('dim', `(${duration(call.end.durationMs)})`)}`);
  }

  function show(event: StreamEvent): void {
    meter.see(event);
    if (agents.show(event)) return;
    switch (event.type) {
      case 'SessionOpened':
        screen.line(paint('dim', `session ${event.session} in ${cleanLine(event.root)}`));
        if (event.instructions.length > 0) screen.line(paint('dim', `instructions: ${instructionsLine(event)}`));
        return;
      case 'MessageQueued':
        if (event.position > 0) screen.line(paint('dim', `message ${event.seq} waits at position ${event.position}`));
        return;
      case 'MessageStarted':
        if (options.showPrompts) screen.line(`${paint('cyan', `${event.mode}>`)} ${cleanText(event.body).trimEnd()}`);
        if (event.model !== '') screen.line(paint('dim', `${event.mode} mode, ${cleanLine(event.model)}`));
        return;
      case 'StepStarted':
        text.giveUp(event.attempt > 1);
        text = stepText(true);
        return screen.status(`thinking (step ${event.step})…${meter.live()}`);
      case 'StreamText':
        return text.delta(event.delta);
      case 'StepText':
        return text.whole(event.text);
      case 'ToolCallStart':
        text.isProgress();
        calls.set(event.op, { title: describeCall(event.tool, event.args) });
        return screen.status(`${describeCall(event.tool, event.args)}…${meter.live()}`);
      case 'ToolProgress':
        return screen.line(paint('dim', `  ${cleanLine(event.text, MAX_DESCRIPTION)}`));
      case 'ToolCallEnd':
        return toolLine(event.op, { end: event }, event.tool);
      case 'ToolResult':
        return toolLine(event.op, { result: event }, event.tool);
      case 'PhaseChanged':
        return screen.line(paint('dim', `— ${PHASE_WORDS[event.phase]} —`));
      case 'TodosChanged':
        for (const todo of event.todos)
          screen.line(`  ${TODO_MARKS[todo.status]} ${cleanLine(todo.content, MAX_DESCRIPTION)}`);
        return;
      case 'RetryScheduled':
        screen.line(paint('yellow', `! ${troubleWords(event.code)}: ${retryText(event, options)}`));
        if (event.message !== '') screen.line(paint('dim', `  ${cleanLine(event.message)}`));
        return screen.status('waiting…');
      case 'ModelChanged':
        screen.line(
          paint(
            'yellow',
            `! ${cleanLine(event.from)}: ${troubleWords(event.code)}; asking ${cleanLine(event.to)} instead`,
          ),
        );
        if (event.message !== '') screen.line(paint('dim', `  ${cleanLine(event.message)}`));
        return;
      case 'AnswerCut':
        return screen.line(paint('yellow', CUT[event.why]));
      case 'ContextFull':
        return screen.status('making the context smaller…');
      case 'ContextCompacted':
        return screen.line(paint('yellow', `! ${contextLine(event)}`));
      case 'LimitReached':
        return screen.line(paint('yellow', `! ${cleanLine(event.message)}`));
      case 'HookRan':
        return screen.line(
          paint(
            event.outcome === 'noted' ? 'dim' : 'yellow',
            `! hook ${cleanLine(event.name)} (${cleanLine(event.event)}) ${event.outcome}: ${cleanLine(event.message, MAX_DESCRIPTION)}`,
          ),
        );
      case 'PermissionAsked':
        for (const line of questionLines(event, paint)) screen.line(line);
        return;
      case 'PermissionAnswered':
        return screen.line(`  ${cleanLine(event.decision)}, by ${cleanLine(event.by)}`);
      case 'CancelRequested':
        return screen.line(paint('yellow', `cancelling, asked by ${cleanLine(event.by)}`));
      case 'AgentError': {
        failed = event.code;
        const where = event.step === 0 ? '' : `step ${event.step}: `;
        return screen.line(paint('red', `✗ ${where}${event.code}: ${cleanLine(event.message)}`));
      }
      case 'AgentDone':
        text.answer(event.answer);
        text = stepText(false);
        calls.clear();
        screen.line(paint(event.status === 'completed' ? 'dim' : 'yellow', describeEnd(event, failed, meter.window())));
        failed = null;
        return;
      case 'UserWord':
        return screen.line(paint('cyan', `${cleanLine(event.by)}> ${cleanLine(event.text, MAX_DESCRIPTION)}`));
      // Subagents have lines of their own.
      case 'AgentSpawned':
      case 'AgentPlaced':
      case 'AgentProgress':
      case 'AgentEnded':
      case 'StreamThinking':
      case 'Usage':
      case 'AuxUsage':
      case 'SessionTitled':
      case 'PersistMessage':
        return;
    }
  }
  return { show };
}

/** Only where Ctrl-C comes from this terminal and means this message. */
function retryText(event: EventOfType<'RetryScheduled'>, { errIsTerminal, showPrompts }: PlainOptions): string {
  const tries = event.attempts === 0 ? '' : ` (try ${event.attempt} of ${event.attempts})`;
  const cancel = errIsTerminal && !showPrompts ? ', Ctrl-C cancels' : '';
  return `trying again in ${duration(event.dueAt - event.at)}${tries}${cancel}`;
}

const CUT = {
  output_limit: '! the answer was cut off at the output limit; the model is asked to go on',
  empty: '! the answer was empty; the model is asked to go on',
} as const;

const duration = (ms: number): string =>
  ms < 1000
    ? `${Math.max(0, Math.round(ms))} ms`
    : ms < 60_000
      ? `${(ms / 1000).toFixed(1)} s`
      : `${Math.round(ms / 60_000)} min`;
