// The line prompt on streams, with the real orchestrator and Redis behind it.

import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { QuestionFeed } from '../../cli/ask-user.ts';
import { linePrompt } from '../../cli/line-prompt.ts';
import { noPaint } from '../../cli/paint.ts';
import { createPlainRenderer } from '../../cli/render-plain.ts';
import { chooseModel } from '../../llm/choose-model.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { openOdin } from '../../orchestrator/odin.ts';

let folder: string;
let server: ScriptedServer;
let odin: Odin;
const gate = Promise.withResolvers<void>();
const feed: QuestionFeed = { asker: null };
/** The session at the prompt. */
let own = '';

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-prompt-')));
  await mkdir(join(folder, 'project'));
  server = await startScriptedServer({
    script: async ({ userText, stepOfMessage }) => {
      const text = userText.split('\n\n<')[0] ?? '';
      if (text.startsWith('wait')) await gate.promise;
      if (text === 'look outside' && stepOfMessage === 0)
        return { text: 'I look.', toolCalls: ['/proc/1', '/proc/2'].map((path) => ({ name: 'LS', args: { path } })) };
      return { text: `Answer to <${text}>` };
    },
  });
  const models = await chooseModel({
    flagModel: 'anthropic/scripted',
    flagSmallModel: 'anthropic/scripted',
    env: { ANTHROPIC_API_KEY: 'none-needed', ANTHROPIC_BASE_URL: server.url },
  });
  if (!models.ok) throw new Error(models.failure.message);
  odin = await openOdin({
    cwd: join(folder, 'project'),
    home: join(folder, 'home'),
    models: models.value,
    permission: { mode: 'ask', timeoutMs: null },
    onQuestion: (seen) => (seen.sid === own ? undefined : feed.asker?.see(seen)),
  });
});
afterAll(async () => {
  gate.resolve();
  await odin.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A prompt to type at; `until` resolves when what is on the screen since the last call matches. */
function openPrompt(sid: string, isNew: boolean) {
  own = sid;
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = '';
  let seen = 0;
  let look = () => {};
  output.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    look();
  });
  const renderer = createPlainRenderer({
    out: output,
    err: output,
    paint: noPaint,
    outIsTerminal: true,
    errIsTerminal: false,
    showPrompts: false,
  });
  const ended = linePrompt(odin, { sid, isNew, mode: 'ask', limits: { maxSteps: 5 }, renderer, feed, input, output });
  return {
    ended,
    input,
    async type(line: string, expected: RegExp): Promise<string> {
      const { promise, resolve } = Promise.withResolvers<string>();
      look = () => {
        const now = screen.slice(seen);
        if (expected.test(now)) resolve(now);
      };
      input.write(line);
      look();
      const shown = await promise;
      seen = screen.length;
      return shown;
    },
  };
}

test('G1, O6: messages follow one another in one session, each in the mode it was typed in, also while one runs', async () => {
  const sid = odin.newSession();
  const prompt = openPrompt(sid, true);
  await prompt.type('', /ask> $/);
  const first = await prompt.type('hello\n', /ask> $/);
  expect(first).toMatch(/^session .*\nask mode, anthropic\/scripted\nAnswer to <hello>\ncompleted · 1 step/);
  expect(await prompt.type('/help\n', /leaves\.\nask> $/)).toContain('/mode ask|plan|edit');
  expect(await prompt.type('/mode never\n', /ask> $/)).toContain('modes: ask, plan, edit. Now: ask.');
  expect(await prompt.type('/nothing\n', /ask> $/)).toContain('there is no /nothing.');
  await prompt.type('/mode plan\n', /plan> $/);
  await prompt.type('wait for me\n', /plan mode/);
  await prompt.type('/mode edit\nfirst line\nsecond line\n', /message 3 \(plan\) waits at position 1/);
  gate.resolve();
  const rest = await prompt.type('', /plan> \/mode edit\n[^]*completed[^]*plan> $/);
  expect(rest).toMatch(/Answer to <wait for me>\n/);
  expect(rest).toMatch(/Answer to <\/mode edit\nfirst line\nsecond line>/);
  prompt.input.write('/quit\n');
  expect(await prompt.ended).toBe(0);
  const { messages } = await odin.state(sid);
  expect(messages.map(({ mode, status }) => `${mode} ${status}`)).toEqual([
    'ask completed',
    'plan completed',
    'plan completed',
  ]);
});

test('O24, G6: a question takes the next line, one after the other; what is no answer is asked again', async () => {
  const prompt = openPrompt(odin.newSession(), true);
  await prompt.type('', /ask> $/);
  const first = await prompt.type('look outside\n', /say why\n$/);
  expect(first.match(/\? Read /g)).toHaveLength(1);
  expect(await prompt.type('what?\n', /say why\n$/)).not.toContain('? Read');
  expect(await prompt.type('n\n', /say why\n$/)).toMatch(/deny, by terminal\n[^]*\? Read /);
  expect(await prompt.type('w not there\n', /ask> $/)).toMatch(/deny, by terminal\n/);
  prompt.input.write('/quit\n');
  expect(await prompt.ended).toBe(0);
});

test('O24: a question of another session that runs here is asked here too, and says whose it is', async () => {
  const prompt = openPrompt(odin.newSession(), true);
  await prompt.type('', /ask> $/);
  const other = odin.newSession();
  const stop = new AbortController();
  const events = odin.follow(other, { from: '$', signal: stop.signal });
  await odin.submit(other, { mode: 'ask', body: 'look outside' });
  const asked = await prompt.type('', /say why\n$/);
  expect(asked).toContain(`(asked by main of session ${other}, question `);
  await prompt.type('n\n', /deny, by terminal\n[^]*say why\n$/);
  await prompt.type('n\n', /deny, by terminal\n/);
  for await (const event of events) if (event.type === 'AgentDone') stop.abort();
  expect(await odin.questions()).toEqual([]);
  prompt.input.write('/quit\n');
  expect(await prompt.ended).toBe(0);
});

test('a session that exists goes on, and the end of the input leaves', async () => {
  const sid = (await odin.lastSession()) ?? '';
  const prompt = openPrompt(sid, false);
  await prompt.type('', /ask> $/);
  const shown = await prompt.type('again\n', /ask> $/);
  expect(shown).toMatch(/^ask mode, .*\nAnswer to <again>\n/);
  prompt.input.end();
  expect(await prompt.ended).toBe(0);
});
