// The plain line prompt of a terminal (SPEC G1, O6): one session, one line a message. What is typed while a message runs is queued.
// A question to the user takes the next line. Ctrl-C cancels what runs, or clears what is typed, or leaves. Several lines pasted at once are one message.

import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Odin, SubmitOptions } from '../orchestrator/api.ts';
import { cleanLine, cleanText } from '../shared/clean-text.ts';
import type { Limits } from '../shared/limits.ts';
import { isMode, MODES, type Mode } from '../shared/modes.ts';
import { UserError } from '../shared/outcome.ts';
import { createAsker, type QuestionFeed } from './ask-user.ts';
import { EXIT } from './exit-codes.ts';
import type { Renderer } from './render-plain.ts';

export interface LinePrompt {
  readonly sid: string;
  /** The session begins with the first message. */
  readonly isNew: boolean;
  readonly mode: Mode;
  readonly limits: Limits;
  readonly models?: {
    readonly model: string;
    readonly smallModel: string;
    readonly fallbackModels?: readonly string[];
  };
  readonly renderer: Renderer;
  /** Gets the asker, for questions of other sessions that run here. */
  readonly feed?: QuestionFeed;
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

const HELP = `Type a message and press Enter. While one runs, more can be typed: they are done one after the other.
  /mode ask|plan|edit   the mode of what is typed next; ask and plan only read
  /compact [words]      make the context smaller now; the words say what to keep in particular
  /help                 this
  /quit                 leave (Ctrl-D too)
When Odin asks something, type y, s, a, n or w and press Enter.
Ctrl-C cancels what runs; at an empty prompt it leaves.`;

/** Runs until the person leaves. */
export async function linePrompt(odin: Odin, options: LinePrompt): Promise<number> {
  const { input, output } = options;
  const reader = createInterface({ input, output, terminal: input.isTTY === true });
  const say = (text: string) => void output.write(`${text}\n`);
  let mode = options.mode;
  let isOpen = true;
  reader.once('close', () => {
    isOpen = false;
  });
  const prompt = () => {
    if (!isOpen || session.running() > 0) return;
    reader.setPrompt(`${mode}> `);
    reader.prompt();
  };
  const asker = createAsker({
    odin,
    display: options.renderer,
    rest: options.renderer,
    write: (text) => output.write(text),
  });
  if (options.feed) options.feed.asker = asker;
  /** Loaded only when the text may name one. */
  const picturesIn = async (text: string) => {
    if (!/\.(?:png|jpe?g|gif|webp)/i.test(text)) return {};
    const { picturesOf } = await import('./message-images.ts');
    return await picturesOf({ typed: text, model: options.models?.model ?? null, cwd: process.cwd() }, odin, say);
  };
  const session = followedSession(odin, { ...options, renderer: asker }, prompt, (message) => {
    say(`odin: the session can no longer be followed: ${message}`);
    reader.close();
  });

  async function take(text: string): Promise<void> {
    const [command, argument, more] = text.split(/\s+/, 3);
    if (text === '') return;
    if (command === '/mode' && more === undefined) {
      if (argument !== undefined && isMode(argument)) mode = argument;
      else say(`modes: ${MODES.join(', ')}. Now: ${mode}.`);
    } else if (text === '/help') {
      say(HELP);
    } else if (command === '/compact') {
      const focus = text.slice('/compact'.length).trim();
      await session.submit(mode, text, { command: { type: 'compact', ...(focus === '' ? {} : { focus }) } });
    } else if (text === '/login') {
      say('A key takes effect with the next start: /quit, then `odin login`.');
    } else if (text === '/quit' || text === '/exit') {
      reader.close();
    } else if (/^\/[a-z]+$/.test(text)) {
      say(`there is no ${text}. /help shows what there is.`);
    } else {
      const { seq, position } = await session.submit(mode, text, await picturesIn(text));
      if (position > 0) say(`message ${seq} (${mode}) waits at position ${position}`);
    }
  }
  async function interrupt(): Promise<void> {
    if (session.running() > 0) return void (await odin.cancel(session.sid, 'Ctrl-C'));
    if (reader.line === '') return reader.close();
    reader.write(null, { ctrl: true, name: 'e' });
    reader.write(null, { ctrl: true, name: 'u' });
  }
  const guarded = async (what: () => Promise<void>) => {
    try {
      await what();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      say(`odin: ${cleanLine(error.message)}`);
    }
  };

  const onInterrupt = () => void guarded(interrupt);
  const onTerminate = () => reader.close();
  reader.on('SIGINT', onInterrupt);
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate);
  try {
    if (input.isTTY === true) say('Odin. /help shows what can be typed, /quit leaves.');
    prompt();
    await eachMessage(reader, async (text) => {
      await guarded(async () => (asker.isOpen() ? asker.take(text) : await take(text)));
      prompt();
    });
    if (session.running() > 0) say('What is not done goes on with: odin run --continue');
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate);
    reader.close();
    await session.leave();
  }
  return EXIT.completed;
}

/** The session behind the prompt: followed from its first message on, and which of the messages typed here are not done. */
function followedSession(
  odin: Odin,
  { sid, isNew, limits, models, renderer, output }: LinePrompt,
  onDone: () => void,
  onLost: (message: string) => void,
) {
  const stop = new AbortController();
  const unfinished = new Set<number>();
  /** Those that began at once: what was typed still stands above what they do. */
  const atOnce = new Set<number>();
  const follow = async (from: string) => {
    for await (const event of odin.follow(sid, { from, signal: stop.signal })) {
      if (event.type === 'MessageStarted' && !atOnce.delete(event.seq))
        output.write(`${event.mode}> ${cleanText(event.body)}\n`);
      renderer.show(event);
      if (event.type === 'AgentDone' && unfinished.delete(event.seq)) onDone();
    }
  };
  const guarded = (from: string) => follow(from).catch((error: Error) => onLost(cleanLine(error.message)));
  // What waits in a session that goes on is done now, and is to be seen.
  let following = isNew ? null : odin.state(sid).then(({ upTo }) => guarded(upTo));
  return {
    sid,
    running: () => unfinished.size,
    async submit(mode: Mode, body: string, more: Pick<SubmitOptions, 'command' | 'images'> = {}) {
      const submitted = await odin.submit(sid, { mode, body, limits, ...models, ...more });
      unfinished.add(submitted.seq);
      if (submitted.position === 0) atOnce.add(submitted.seq);
      following ??= guarded('0');
      return submitted;
    },
    async leave(): Promise<void> {
      stop.abort();
      await following;
    },
  };
}

/** Hands on one message after the other until the input ends. Lines that come in one piece were pasted: they are one message. */
async function eachMessage(reader: Interface, take: (text: string) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  let last = Promise.resolve();
  const flush = () => {
    const text = lines.splice(0).join('\n').trim();
    last = last.then(() => take(text));
    last.catch(() => reader.close());
  };
  reader.on('line', (line) => {
    if (lines.push(line) === 1) setImmediate(flush);
  });
  await once(reader, 'close');
  flush();
  await last;
}
