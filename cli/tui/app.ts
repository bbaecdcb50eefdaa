// The terminal interface (SPEC G1): wires the session on the screen, the components, the keys and the commands to each other. It decides
// nothing about the work: it submits, answers and cancels through the facade, and draws what the events say.

import {
  type Component,
  Container,
  Editor,
  isKeyRelease,
  setCapabilities,
  TuiMainScreen,
} from '@earendil-works/pi-tui';
import type { Odin, SeenQuestion } from '../../orchestrator/api.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere } from '../place.ts';
import { askedOf } from '../question-text.ts';
import { createCommands } from './commands/all.ts';
import { createCompletion, listFiles } from './completion.ts';
import { guard } from './components/lines.ts';
import { PermissionDialog } from './components/permission-dialog.ts';
import { Picker } from './components/picker.ts';
import { agentLines, queueLines, todoLines } from './components/side-lists.ts';
import { activityLine, FRAME_MS, statusLine, styleOf } from './components/status-line.ts';
import { Transcript } from './components/transcript.ts';
import type { AppOptions, Desk } from './desk.ts';
import { loadHighlighter } from './highlight.ts';
import { addToHistory } from './history.ts';
import { createKeys } from './keys.ts';
import { EMPTY_VIEW, type NoteItem } from './model.ts';
import { createSession, type SessionOnScreen } from './session.ts';
import { editorTheme, startingTheme, themeNamed } from './theme.ts';

export interface App {
  /** The exit code, when the person has left. */
  readonly done: Promise<number>;
  /** Questions of other sessions that run in this process. */
  onQuestion(seen: SeenQuestion): void;
  notice(line: string): void;
  leave(): void;
}

/** What streams in is drawn at most this often; keys are drawn at once. */
const DRAW_MS = 33;
/** A dialog takes the keyboard only when nothing was typed for so long: a letter meant for the editor must not answer it. */
const TYPING_MS = 600;

export function startApp(options: AppOptions): App {
  const { terminal, env } = options;
  // Links that say one thing and lead to another, and pictures, are not for what a model writes.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false });
  const tui = new TuiMainScreen(terminal, true);
  const { promise: done, resolve: finish } = Promise.withResolvers<number>();
  let theme = themeNamed(startingTheme(env));
  let mode = options.mode;
  let models = options.models;
  let hint = '';
  let sandbox = '';
  let hintTimer: NodeJS.Timeout | null = null;
  let odin: Odin | null = null;
  let session: SessionOnScreen | null = null;
  let isOver = false;
  let drawTimer: NodeJS.Timeout | null = null;
  let lastKeyAt = 0;
  let dialog: { readonly id: string; readonly component: PermissionDialog } | null = null;
  let picker: Picker | null = null;
  let shown: Component | null = null;

  const view = () => session?.view() ?? EMPTY_VIEW;
  const transcript = new Transcript(EMPTY_VIEW, theme);
  const editor = new Editor(tui, editorTheme(theme), { paddingX: 1 });
  const slot = new Container();
  const header = lines((width) => [
    guard(` ${theme.bold('Odin')} ${theme.dim(options.version)}  ${theme.dim(cleanLine(options.cwd))}`, width),
    guard(theme.dim(' /help shows what can be typed · @ names a file · ! runs a command'), width),
    '',
  ]);
  const side = lines((width) => {
    const { todos, agents, running } = view();
    const activity = activityLine(view(), theme, width, Date.now());
    const team = running === null ? [] : agentLines(agents, theme, width);
    const above = [...todoLines(todos, theme, width), ...team, ...(activity === '' ? [] : [activity])];
    const waiting = queueLines(session?.queue() ?? [], theme, width);
    return [...above, ...waiting];
  });
  const status = lines((width) => [
    statusLine(
      view(),
      {
        mode,
        queued: session?.queue().length ?? 0,
        waiting: view().questions.length,
        model: models?.model ?? 'no model',
        sandbox,
        hint,
      },
      theme,
      width,
    ),
  ]);

  const draw = () => {
    transcript.show(view());
    editor.borderColor = styleOf(mode, theme);
    arrange();
    tui.requestRender();
  };
  const schedule = () => {
    if (isOver) return;
    drawTimer ??= setTimeout(() => {
      drawTimer = null;
      if (!isOver) draw();
    }, DRAW_MS);
  };

  /** The editor, or the dialog or list that has its place now. */
  function arrange(): void {
    const question = view().questions[0];
    if (question === undefined || dialog?.id !== question.questionId) dialog = null;
    if (question !== undefined && dialog === null && picker === null) {
      const forMs = lastKeyAt + TYPING_MS - Date.now();
      if (forMs > 0) setTimeout(schedule, forMs);
      else dialog = openDialog(question);
    }
    const next = dialog?.component ?? picker ?? editor;
    if (next === shown) return;
    shown = next;
    slot.clear();
    slot.addChild(next);
    tui.setFocus(next);
  }

  function openDialog(question: ReturnType<typeof view>['questions'][number]) {
    const component = new PermissionDialog({
      question,
      waiting: () => view().questions.length,
      theme,
      rows: () => terminal.rows,
      answer(decision, word) {
        const by = { by: 'terminal', ...(word === undefined ? {} : { word }) };
        odin?.answer(question.questionId, decision, by).catch((error: unknown) => {
          component.reopen();
          const why = error instanceof Error ? error.message : String(error);
          theDesk.say(`the answer did not get through: ${cleanLine(why)}`, 'bad');
        });
      },
    });
    return { id: question.questionId, component };
  }

  function onEvent(event: StreamEvent | null): void {
    if (event?.type === 'AgentDone' && event.agent === undefined && event.session === session?.sid()) commands.ended();
    schedule();
  }

  const theDesk: Desk = {
    get odin() {
      if (odin === null) throw new UserError('Odin is still starting. Try again in a moment.');
      return odin;
    },
    get session() {
      if (session === null) throw new UserError('Odin is still starting. Try again in a moment.');
      return session;
    },
    editor,
    options,
    mode: () => mode,
    setMode(next) {
      mode = next;
      draw();
    },
    models: () => models,
    setModels(next) {
      models = next;
      draw();
    },
    theme: () => theme,
    setTheme(name) {
      theme = themeNamed(name);
      transcript.setTheme(theme);
      draw();
    },
    say(text, tone = 'dim') {
      if (session === null) early.push([text, tone]);
      else session.note(text, tone);
    },
    async submit(body, inMode = mode) {
      await opened;
      if (session === null) return null;
      return await session.submit({ mode: inMode, body, limits: options.limits, ...models });
    },
    took(text) {
      editor.setText('');
      editor.addToHistory(text);
      void addToHistory(placeHere(env, options.cwd).home, text);
    },
    pick(more) {
      const close = () => {
        picker = null;
        draw();
      };
      picker = new Picker({
        ...more,
        theme,
        rows: () => terminal.rows,
        onPick(value) {
          close();
          more.onPick(value);
        },
        onCancel() {
          close();
          more.onCancel?.();
        },
      });
      draw();
    },
    closePicker() {
      picker = null;
      draw();
    },
    hint(text) {
      hint = text;
      if (hintTimer !== null) clearTimeout(hintTimer);
      hintTimer = setTimeout(() => {
        hint = '';
        schedule();
      }, 2_000).unref();
      draw();
    },
    toggleFolds() {
      transcript.toggle();
      draw();
    },
    commands: () => commands,
    redraw: draw,
    isTyping: () => Date.now() - lastKeyAt < TYPING_MS,
    leave,
  };
  const early: [string, NoteItem['tone']][] = [];
  const commands = createCommands(theDesk);
  const keys = createKeys(theDesk, {
    isRunning: () => view().running !== null,
    hasDialog: () => dialog !== null || picker !== null,
    lastPrompt: () => view().turns.findLast(({ seq }) => seq > 0)?.body ?? '',
  });
  editor.setAutocompleteProvider(
    createCompletion(
      () => commands.list,
      () => listFiles(odin?.root ?? options.cwd),
    ),
  );
  const spinning = setInterval(() => view().running && schedule(), FRAME_MS).unref();

  editor.onSubmit = (text) => {
    if (text.trim() === '') return;
    theDesk.took(text);
    commands.take(text).catch((error: unknown) => {
      if (!(error instanceof UserError)) return leaveWith(error);
      theDesk.say(error.message, 'bad');
    });
  };
  tui.addInputListener((data) => {
    if (isKeyRelease(data)) return undefined;
    lastKeyAt = Date.now();
    return keys(data) ? { consume: true } : undefined;
  });

  async function begin(): Promise<void> {
    odin = await options.odin;
    if (isOver) return;
    session = createSession(odin, onEvent);
    const isNew = options.session === null;
    session.open(options.session === null ? odin.newSession() : await findSession(odin, options.session), isNew);
    for (const [text, tone] of early.splice(0)) session.note(text, tone);
    schedule();
  }
  function leaveWith(error: unknown): void {
    if (isOver) return;
    stop();
    failed = error instanceof Error ? error : new Error(String(error));
    finish(EXIT.failed);
  }
  let failed: Error | null = null;
  function stop(): void {
    isOver = true;
    clearInterval(spinning);
    if (drawTimer !== null) clearTimeout(drawTimer);
    tui.stop();
  }
  function leave(code: number = EXIT.completed): void {
    if (isOver) return;
    editor.setText('');
    dialog = null;
    picker = null;
    draw();
    tui.renderNow();
    stop();
    const isOpen = view().running !== null || (session?.queue().length ?? 0) > 0;
    if (isOpen) terminal.write(`What is not done goes on with: odin --continue\r\n`);
    finish(code);
  }

  for (const child of [header, transcript, side, slot, status]) tui.addChild(child);
  draw();
  tui.start();
  commands.begin().catch(leaveWith);
  const opened = begin().catch(leaveWith);
  options.sandbox.then((found) => {
    sandbox = found;
    schedule();
  }, leaveWith);
  loadHighlighter().then(() => {
    transcript.invalidate();
    schedule();
  }, leaveWith);
  if (theme.name !== 'plain') {
    void tui.queryTerminalBackgroundColor({ timeoutMs: 300 }).then((colour) => {
      if (colour === undefined || isOver) return;
      const isLight = 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b > 140;
      if (isLight !== (theme.name === 'light')) theDesk.setTheme(isLight ? 'light' : 'dark');
    });
  }

  return {
    done: done.then(async (code) => {
      await session?.close();
      if (failed !== null) throw failed;
      return code;
    }),
    onQuestion({ sid, question, answer }) {
      if (session === null || sid === session.sid()) return;
      const place = { session: sid, id: null, at: Date.now(), seq: 0 };
      const agent = `${question.agent ?? 'main'} of session ${sid}`;
      if (answer === null) session.see({ ...place, type: 'PermissionAsked', ...askedOf({ ...question, agent }) });
      else {
        const { decision, by } = answer;
        session.see({ ...place, type: 'PermissionAnswered', questionId: question.id, decision, by });
      }
    },
    notice: (line) => theDesk.say(cleanLine(line)),
    leave: () => leave(),
  };
}

const lines = (render: (width: number) => string[]): Component => ({ render, invalidate: () => {} });
