// Commands about the session: what it costs and holds, what it changed, and others to go on with.

import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { SessionSummary } from '../../../orchestrator/api.ts';
import type { WindowKind } from '../../../orchestrator/window-contents.ts';
import { cleanLine } from '../../../shared/clean-text.ts';
import { UserError } from '../../../shared/outcome.ts';
import { accountsText } from '../../accounts-text.ts';
import { costText, windowText } from '../../meter.ts';
import { jsonLine } from '../../render-json.ts';
import type { Desk } from '../desk.ts';
import type { SlashCommand } from './command.ts';

export const sessionCommands: readonly SlashCommand[] = [
  { name: 'cost', help: 'tokens and money of this session, by model', run: showCost },
  { name: 'context', help: "what the model's window holds", run: showContext },
  {
    name: 'compact',
    takes: '[what to keep]',
    help: 'make the context smaller now',
    async run({ session }, focus) {
      const command = { type: 'compact', ...(focus === '' ? {} : { focus }) } as const;
      await session.submit({ mode: 'ask', body: `/compact ${focus}`.trimEnd(), command });
    },
  },
  {
    name: 'undo',
    takes: '[n]',
    help: 'take the newest file changes back, message by message',
    run: (desk, rest) => move(desk, 'undo', rest),
  },
  { name: 'redo', takes: '[n]', help: 'make undone file changes again', run: (desk, rest) => move(desk, 'redo', rest) },
  { name: 'diff', help: 'what this session has changed in files', run: showDiff },
  { name: 'sessions', help: 'other sessions of this project, to go on with', run: pickSession },
  { name: 'resume', takes: '[id]', help: 'the same; with an id, or the beginning of one, at once', run: resume },
  {
    name: 'fork',
    takes: '[n]',
    help: 'a new session that goes on from here, or from the end of message n; files stay as they are',
    run: fork,
  },
  { name: 'export', takes: '[file]', help: 'the whole journal as JSON lines into a file', run: exportTo },
];

async function showCost({ odin, session, say }: Desk): Promise<void> {
  const text = accountsText(await started(odin.state(session.sid())), odin.rates).trim();
  say(text === '' ? 'no model was asked yet' : text, 'table');
}

const BAR = 40;

const KINDS: Readonly<Record<WindowKind, string>> = {
  prompt: "Odin's own prompt",
  instructions: 'instructions of the project and yours',
  tools: 'tools',
  messages: 'your messages, and what a summary stands for',
  pictures: 'pictures',
  answers: 'answers and thoughts',
  calls: 'calls of tools',
  files: 'files that were read',
  results: 'other results of tools',
  facts: 'facts told beside',
};
const MOST_FILES = 5;

async function showContext(desk: Desk): Promise<void> {
  const { odin, session, say } = desk;
  const sid = session.sid();
  const [state, window] = await started(Promise.all([odin.state(sid), odin.window(sid, desk.mode())]));
  if (state.window === null) return say('the window is empty: no model was asked yet');
  const { model, tokens, size, parts, files } = window;
  const full = size === 0 ? 0 : Math.min(BAR, Math.ceil((BAR * tokens) / size));
  const done = state.messages.length;
  const rows = Object.entries(KINDS)
    .map(([kind, title]) => ({ title, tokens: parts[kind as WindowKind] }))
    .filter((row) => row.tokens > 0);
  const row = (title: string, part: number) =>
    [` ${String(part).padStart(9)}`, `${Math.round((100 * part) / tokens)} %`.padStart(5), title].join('  ');
  say(
    [
      `window  ${windowText({ tokens, size })} of ${cleanLine(model)}`,
      ...(size === 0 ? [] : [`        ${'█'.repeat(full)}${'░'.repeat(BAR - full)}`]),
      ...rows.map(({ title, tokens: part }) => row(title, part)),
      ...files.slice(0, MOST_FILES).map((file) => row(`  ${cleanLine(file.path, 80)}`, file.tokens)),
      `session ${done} ${done === 1 ? 'message' : 'messages'}, ${state.todos.length} todos, ${state.messageQueue.length} waiting`,
      'It is made smaller by itself before it is full; /compact does it now.',
    ].join('\n'),
    'table',
  );
}

async function move(desk: Desk, type: 'undo' | 'redo', rest: string): Promise<void> {
  const count = rest === '' ? 1 : Number(rest);
  if (!Number.isInteger(count) || count < 1) throw new UserError(`/${type} takes how many messages, as in /${type} 2`);
  await desk.session.submit({ mode: 'edit', body: `/${type} ${count}`, command: { type, count } });
}

async function showDiff({ odin, session, say }: Desk): Promise<void> {
  const files = await started(odin.diff(session.sid()));
  if (files.length === 0) return say('this session has changed no files');
  for (const { status, path, added, removed, diff } of files) {
    say(`${status} ${path} (+${added} -${removed})\n${diff.trimEnd()}`, 'diff');
  }
}

async function pickSession(desk: Desk): Promise<void> {
  const { odin, session } = desk;
  const sessions = (await odin.sessions()).filter(({ root }) => root === odin.root);
  if (sessions.length === 0) return desk.say('there is no session here yet');
  const costs = await Promise.all(sessions.slice(0, COSTED).map((one) => costOf(desk, one)));
  desk.pick({
    title: 'Sessions of this project',
    items: sessions.map((one, i) => ({
      value: one.sid,
      label: one.title === '' ? '(no title)' : one.title,
      description: [
        age(Date.now() - one.updatedAt),
        one.sid === session.sid() ? 'this one' : one.status,
        `${one.messages} ${one.messages === 1 ? 'message' : 'messages'}`,
        costs[i] ?? '',
      ]
        .filter((part) => part !== '')
        .join(' · '),
    })),
    onPick: (sid) => desk.session.open(sid, false),
  });
}

/** Sessions whose cost is looked up for the list: each is a read of its state. */
const COSTED = 20;

async function costOf({ odin }: Desk, { sid, status }: SessionSummary): Promise<string> {
  if (status === 'archived') return '';
  const state = await odin.state(sid).catch(() => null);
  const isEstimated = Object.values(state?.spending ?? {}).some((spent) => spent.isEstimated);
  return state === null || state.window === null ? '' : costText(odin.rates.costOf(state.spending), isEstimated);
}

async function resume(desk: Desk, rest: string): Promise<void> {
  if (rest === '') return await pickSession(desk);
  const { findSession } = await import('../../find-session.ts');
  desk.session.open(await findSession(desk.odin, rest), false);
}

async function fork(desk: Desk, rest: string): Promise<void> {
  const sid = desk.session.sid();
  const forked = await (rest === '' ? started(desk.odin.fork(sid)) : desk.odin.fork(sid, rest));
  desk.session.open(forked.sid, false);
  const cut = forked.cut === null ? '' : `; message ${forked.cut} was under way and is ended here`;
  desk.say(
    `a fork with ${forked.messages} ${forked.messages === 1 ? 'message' : 'messages'}${cut}. The other session is in /sessions.`,
  );
}

async function exportTo({ odin, session, options, say }: Desk, rest: string): Promise<void> {
  const path = resolve(options.cwd, rest === '' ? `odin-session-${session.sid()}.jsonl` : rest);
  const events = odin.export(session.sid());
  async function* lines() {
    for await (const event of events) yield jsonLine(event);
  }
  try {
    // `wx`: what is there is not written over.
    await pipeline(lines, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    if (error instanceof UserError) throw error;
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new UserError(
      isThere ? `${path} exists. Name another file: /export FILE` : `it cannot be written to ${path}: ${String(error)}`,
    );
  }
  say(`written to ${path}`);
}

/** A session begins with its first message; until then there is nothing to tell. */
async function started<T>(reading: Promise<T>): Promise<T> {
  return await reading.catch((error: unknown) => {
    throw error instanceof UserError ? new UserError('this session has no message yet') : error;
  });
}

export function age(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}
