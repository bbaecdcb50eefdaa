// The terminal interface (SPEC G1): wires the session on the screen, the components, the keys and the commands to each other. It decides
// nothing about the work: it submits, answers and cancels through the facade, and draws what the events say.

import { Editor, isKeyRelease, setCapabilities, TuiMainScreen } from '@earendil-works/pi-tui';
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
import { Picker } from './components/picker.ts';
import { Prompt } from './components/prompt.ts';
import { FRAME_MS, styleOf } from './components/status-line.ts';
import { Transcript } from './components/transcript.ts';
import type { AppOptions, Desk } from './desk.ts';
import { createFrame } from './frame.ts';
import { loadHighlighter } from './highlight.ts';
import { addToHistory } from './history.ts';
import { createKeys } from './keys.ts';
import { createSession, type SessionOnScreen } from './session.ts';
import { createSlot, TYPING_MS } from './slot.ts';
import { editorTheme, startingTheme, themeNamed } from './theme.ts';
import { typeableKey } from './typeable.ts';
import { EMPTY_VIEW, type NoteItem } from './view.ts';

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
  const left = new AbortController();
  let drawTimer: NodeJS.Timeout | null = null;
  let lastKeyAt = 0;

  const view = () => session?.view() ?? EMPTY_VIEW;
  const transcript = new Transcript(EMPTY_VIEW, theme);
  const editor = new Editor(tui, editorTheme(theme), { paddingX: 1 });
  const slot = createSlot({
    tui,
    editor,
    theme: () => theme,
    rows: () => terminal.rows,
    lastKeyAt: () => lastKeyAt,
    redrawSoon: schedule,
    async answer({ questionId }, decision, word) {
      await odin?.answer(questionId, decision, { by: 'terminal', ...(word === undefined ? {} : { word }) });
    },
    answerFailed(error) {
      const why = error instanceof Error ? error.message : String(error);
      theDesk.say(`the answer did not get through: ${cleanLine(why)}`, 'bad');
    },
  });
  const { header, side, status } = createFrame({
    version: options.version,
    cwd: options.cwd,
    theme: () => theme,
    view,
    queue: () => session?.queue() ?? [],
    standing: () => ({
      mode,
      queued: session?.queue().length ?? 0,
      waiting: view().questions.length,
      model: models?.model ?? 'no model',
      sandbox,
      hint,
    }),
  });

  const draw = () => {
    transcript.show(view());
    editor.borderColor = styleOf(mode, theme);
    slot.arrange(view().questions);
    tui.requestRender();
  };
  function schedule(): void {
    if (isOver) return;
    drawTimer ??= setTimeout(() => {
      drawTimer = null;
      if (!isOver) draw();
    }, DRAW_MS);
  }

  function onEvent(event: StreamEvent | null): void {
    if (event?.type === 'AgentDone' && event.agent === undefined && event.session === session?.sid()) commands.ended();
    schedule();
  }

  const theDesk: Desk = {
    ready: () => opened,
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
    async submit(body, inMode = mode, images = []) {
      await opened;
      if (session === null) return null;
      return await session.submit({
        mode: inMode,
        body,
        limits: options.limits,
        ...(images.length === 0 ? {} : { images }),
        ...models,
      });
    },
    took(text) {
      editor.setText('');
      editor.addToHistory(text);
      void addToHistory(placeHere(env, options.cwd).home, text);
    },
    pick(more) {
      const onPick = (value: string) => {
        theDesk.closePicker();
        more.onPick(value);
      };
      const onCancel = () => {
        theDesk.closePicker();
        more.onCancel?.();
      };
      slot.open(new Picker({ ...more, theme, rows: () => terminal.rows, onPick, onCancel }));
      draw();
    },
    prompt(more) {
      const onDone = (text: string | null) => {
        theDesk.closePicker();
        more.onDone(text);
      };
      slot.open(new Prompt({ ...more, theme, onDone }));
      draw();
    },
    closePicker() {
      slot.open(null);
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
    left: left.signal,
    pictures: new Map(),
  };
  const early: [string, NoteItem['tone']][] = [];
  const commands = createCommands(theDesk);
  const keys = createKeys(theDesk, {
    isRunning: () => view().running !== null,
    hasDialog: slot.isTaken,
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
    if (slot.giveWay(data)) draw();
    return keys(data) ? { consume: true } : { data: typeableKey(data) };
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
    left.abort();
    tui.stop();
  }
  function leave(code: number = EXIT.completed): void {
    if (isOver) return;
    editor.setText('');
    slot.close();
    draw();
    tui.renderNow();
    stop();
    const isOpen = view().running !== null || (session?.queue().length ?? 0) > 0;
    if (isOpen) terminal.write(`What is not done goes on with: odin --continue\r\n`);
    finish(code);
  }

  for (const child of [header, transcript, side, slot.container, status]) tui.addChild(child);
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
