// The slash commands of the interface, each against the real parts it calls.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { ALT_UP, ENTER, ESC, withApp } from './with-app.ts';

const writes: Script = ({ userText, stepOfMessage }) => {
  if (stepOfMessage === 0 && userText.startsWith('write'))
    return { toolCalls: [{ name: 'WriteFile', args: { file_path: 'b.txt', content: 'new\n' } }] };
  if (stepOfMessage === 0 && userText.startsWith('first'))
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] };
  return { text: `Answer to <${userText.split('\n\n<')[0]}>` };
};

test('E14, G1: /diff, /undo and /redo show and move what the session changed', async () => {
  await withApp(
    writes,
    async ({ screen, world }) => {
      screen.type(`/diff${ENTER}`);
      await screen.until(/! ?|this session has no message yet/);
      screen.type(`write it${ENTER}`);
      await screen.until(/Answer to <write it>[^]*completed/);
      screen.type(`/diff${ENTER}`);
      await screen.until(/created b\.txt \(\+1 -0\)[^]*\n {2}\+new\n/);
      screen.type(`/undo${ENTER}`);
      await screen.until(/edit ❯ \/undo 1[^]*completed[^]*────/);
      expect(existsSync(join(world.project, 'b.txt'))).toBe(false);
      screen.type(`/redo 1${ENTER}`);
      await screen.until(/edit ❯ \/redo 1[^]*completed[^]*────/);
      expect(readFileSync(join(world.project, 'b.txt'), 'utf8')).toBe('new\n');
      screen.type(`/undo none${ENTER}`);
      await screen.until(/\/undo takes how many messages/);
    },
    { mode: 'edit', rows: 60 },
  );
});

test('O5, E16: /cost, /context, /compact, /export, /clear, /sessions, /resume, /fork, /init and /quit: what a session holds, and others to go on with', async () => {
  await withApp(
    writes,
    async ({ screen, world, app }) => {
      screen.type(`first${ENTER}`);
      await screen.until(/Answer to <first>[^]*completed/);
      screen.type(`/cost${ENTER}`);
      await screen.until(/MODEL +CALLS +TOKENS IN[^]*anthropic\/scripted +2 /);
      screen.type(`/context${ENTER}`);
      const window = await screen.until(/window +\d.* of anthropic\/scripted\n[^]*session 1 message, 0 todos/);
      for (const part of [
        "Odin's own prompt",
        'tools',
        'your messages, and',
        'answers and',
        'files that were read',
        '  a.txt',
      ])
        expect(window).toMatch(new RegExp(`\\d {2} {1,3}\\d+ % {2}${part}`));
      screen.type(`/compact the names${ENTER}`);
      await screen.until(/ask ❯ \/compact the names\n[^]*(?:completed|refused)[^]*────/);
      screen.type(`/export out.jsonl${ENTER}`);
      await screen.until(/written to .*out\.jsonl/);
      expect(readFileSync(join(world.project, 'out.jsonl'), 'utf8')).toContain('"type":"msg.done"');
      screen.type(`/export out.jsonl${ENTER}`);
      await screen.until(/out\.jsonl exists\. Name another file/);
      screen.type(`/fork 99${ENTER}`);
      await screen.until(/has no message 99 that is done/);
      screen.type(`/fork 1${ENTER}`);
      await screen.until(/a fork with 1 message\./);
      screen.type(`second${ENTER}`);
      await screen.until(/Answer to <second>[^]*completed/);
      screen.type(`/clear${ENTER}`);
      await screen.until(/^(?![^]*Answer to)/);
      screen.type(`/sessions${ENTER}`);
      const list = await screen.until(/Sessions of this project\n/);
      expect(list).toMatch(/❯|→/);
      expect(list).toMatch(/first \(fork\) .*now · idle · 2 messages/);
      const [sid = ''] = readFileSync(join(world.project, 'out.jsonl'), 'utf8').match(/(?<="sid":")\w+/) ?? [];
      expect(list).toMatch(/first .*now · idle · 2 messages/);
      screen.type('\u001b[B');
      screen.type(ENTER);
      const resumed = await screen.until(/ask ❯ first\n[^]*Answer to <first>[^]*completed/);
      expect(resumed).not.toContain('second');
      screen.type(`/clear${ENTER}`);
      await screen.until(/^(?![^]*Answer to)/);
      screen.type(`/resume ${sid.slice(0, 20)}${ENTER}`);
      await screen.until(/ask ❯ first\n[^]*Answer to <first>[^]*completed/);
      screen.type(`/resume nobody${ENTER}`);
      await screen.until(/✗ .*nobody/);
      screen.type(`/init${ENTER}`);
      await screen.until(/edit ❯ Write ODIN\.md: look through the project with InitTool\.\n[^]*Answer to <Write/);
      screen.type(`/quit${ENTER}`);
      expect(await app.done).toBe(0);
    },
    { rows: 60 },
  );
});

test('O3, G7: /model lists what the provider has and asks another one from then on; /models says what others need', async () => {
  await withApp(
    writes,
    async ({ screen, world }) => {
      screen.type(`/model${ENTER}`);
      await screen.until(/Model of what is typed next\n[^]*anthropic\/scripted/);
      screen.type(ESC);
      screen.type(`/model anthropic/other${ENTER}`);
      await screen.until(/anthropic\/other is asked from the next message on/);
      screen.type(`hello${ENTER}`);
      await screen.until(/Answer to <hello>[^]*completed[^]* ask · other · /);
      expect(JSON.parse(world.server.requests.at(-1)?.body ?? '{}')).toMatchObject({ model: 'other' });
      screen.type(`/models${ENTER}`);
      await screen.until(/anthropic\n {4}anthropic\/scripted\n[^]*openai: /);
      screen.type(`/model other${ENTER}`);
      await screen.until(/write provider\/name/);
    },
    { rows: 60 },
  );
});

test('G1: /help names every command, /theme and /mode choose from a list, an unknown one is refused with the nearest', async () => {
  await withApp(
    writes,
    async ({ screen }) => {
      screen.type(`/help${ENTER}`);
      const help = await screen.until(/Ctrl-O opens and folds/);
      const names =
        'help mode model models cost context compact undo redo diff sessions resume fork agents queue permissions init doctor export theme clear quit login';
      for (const name of names.split(' ')) expect(help).toContain(`/${name}`);
      screen.type(`/mode${ENTER}`);
      await screen.until(/Mode of what is typed next/);
      screen.type('\u001b[B');
      screen.type(ENTER);
      await screen.until(/\n plan · scripted/);
      screen.type(`/theme light${ENTER}`);
      screen.type(`/permissions${ENTER}`);
      await screen.until(/no command is allowed for always here/);
      screen.type(`/agents${ENTER}`);
      await screen.until(/the newest message has no subagents/);
      screen.type(`/qeue${ENTER}`);
      await screen.until(/there is no \/qeue\. Did you mean \/queue\?/);
      screen.type(`/queue${ENTER}`);
      await screen.until(/no message waits/);
      screen.type(`/doctor${ENTER}`);
      await screen.until(/ok +Node +24/);
    },
    { rows: 70 },
  );
});

test('O6: /queue moves a waiting message up and removes one', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async ({ userText }) => {
    if (userText.startsWith('wait')) await gate.promise;
    return { text: `Answer to <${userText.split('\n\n<')[0]}>` };
  };
  await withApp(
    script,
    async ({ screen }) => {
      for (const text of ['wait', 'second', 'third', 'fourth']) {
        screen.type(`${text}${ENTER}`);
        await screen.until(text === 'wait' ? /thinking/ : new RegExp(`↳ ask ${text}`));
      }
      screen.type(`/queue${ENTER}`);
      await screen.until(/3 messages wait/);
      screen.type('\u001b[B');
      screen.type('\u0010');
      await screen.until(/↳ ask third\n ↳ ask second\n ↳ ask fourth/);
      await screen.until(/→ ask third\n.*ask second\n/);
      screen.type('\u0004');
      await screen.until(/2 messages wait/);
      screen.type(ESC);
      gate.resolve();
      const shown = await screen.until(/Answer to <fourth>[^]*completed/);
      expect(shown).toMatch(/Answer to <second>/);
      expect(shown).not.toMatch(/Answer to <third>/);
    },
    { rows: 60 },
  );
});

test('O6, G1: a message that is taken back out of the queue keeps a picture whose name is only a word in it', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async () => {
    await gate.promise;
    return { text: 'Done.' };
  };
  await withApp(
    script,
    async ({ screen, world }) => {
      screen.type(`wait${ENTER}`);
      await screen.until(/thinking/);
      const client = await world.open({ models: false });
      const [session] = await client.sessions();
      const bytes = Buffer.from('89504e470d0a1a0a0000000d494844520000032000000258080600000000', 'hex');
      const image = await client.keepImage({ name: 'shot.png', bytes }, null);
      await client.submit(session?.sid ?? '', { mode: 'ask', body: 'why is shot.png so dark', images: [image] });
      await screen.until(/↳ ask why is shot/);
      screen.type(ALT_UP);
      await screen.until(/why is shot\.png so dark \[shot\.png, 800×600\]/);
      gate.resolve();
      await screen.until(/completed · 1 step/);
    },
    { rows: 60 },
  );
});
