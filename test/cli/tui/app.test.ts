// The terminal interface on an emulated screen, with the real orchestrator, Redis and a scripted model behind it.

import { expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { ALT_UP, ENTER, ESC, SHIFT_TAB, withApp } from './with-app.ts';

test('G1: an answer streams in as Markdown, a call is one line, and the line below says mode, model, window and money', async () => {
  const script: Script = ({ stepOfMessage }) =>
    stepOfMessage === 0
      ? { text: 'I look.', toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] }
      : { text: '# Found\n\nIt says **one**:\n\n- two\n- three\n\n```ts\nconst x = 1;\n```' };
  await withApp(script, async ({ screen }) => {
    screen.type(`what is in a.txt${ENTER}`);
    const shown = await screen.until(/completed · 2 steps/);
    expect(shown).toMatch(/ask ❯ what is in a\.txt\n\n {2}I look\.\n\n {2}✓ ReadFile a\.txt → 3 lines \(\d/);
    expect(shown).toMatch(
      /Found\n\n {2}It says one:\n\n {2}- two\n {2}- three\n\n {2}```ts\n {2}const x = 1;\n {2}```/,
    );
    expect(shown.split('\n').at(-1)).toMatch(/^ ask · scripted · .*exploring/);
  });
});

test('O6, G1: one types while it works: messages wait in their own modes above the editor, Alt-Up takes one back, Esc interrupts', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async ({ userText }) => {
    if (userText.startsWith('wait')) await gate.promise;
    return { text: `Answer to <${userText.split('\n\n<')[0]}>` };
  };
  await withApp(script, async ({ screen, world }) => {
    screen.type(`wait here${ENTER}`);
    await screen.until(/thinking · \d+ s · Esc interrupts/);
    screen.type(`${SHIFT_TAB}`);
    screen.type(`second${ENTER}`);
    await screen.until(/↳ plan second/);
    screen.type(SHIFT_TAB);
    screen.type(`third${ENTER}`);
    await screen.until(/↳ plan second\n ↳ edit third\n[^]* edit · scripted · 2 queued/);
    screen.type(ALT_UP);
    await screen.until(/↳ plan second\n {3}Alt-Up[^]*\n third\n/);
    screen.type(` time${ENTER}`);
    await screen.until(/↳ plan second\n ↳ edit third time/);
    screen.type(ESC);
    await screen.until(/cancelled · 1 step/);
    gate.resolve();
    await screen.until(
      /plan ❯ second\n\n {2}Answer to <second>[^]*edit ❯ third time\n\n {2}Answer to <third time>[^]*completed/,
    );
    const odin = await world.open({ models: false });
    const { messages } = await odin.state((await odin.lastSession()) ?? '');
    expect(messages.map(({ mode, status }) => `${mode} ${status}`)).toEqual([
      'ask cancelled',
      'plan completed',
      'edit completed',
    ]);
    screen.type(ESC);
    await screen.until(/Esc again edits the last message/);
    screen.type(ESC);
    await screen.until(/\n third time\n/);
  });
});

test('G6, O23, O24: a question says what, why and who asks; letters meant for the editor never answer it, a key does', async () => {
  const script: Script = ({ stepOfMessage }) =>
    stepOfMessage === 0
      ? { toolCalls: ['/proc/1', '/proc/2'].map((path) => ({ name: 'LS', args: { path } })) }
      : { text: 'Seen.' };
  await withApp(script, async ({ screen }) => {
    screen.type(`look outside${ENTER}`);
    const asked = await screen.until(/❯ y {2}yes, this once/);
    expect(asked).toMatch(/asked by main · 1 more waits/);
    expect(asked).toMatch(/! outside the project: \/proc\/1/);
    expect(asked).toContain('waiting for your answer');
    screen.type('w');
    await screen.until(/What should it know\?/);
    screen.type(`not there${ENTER}`);
    await screen.until(/outside the project: \/proc\/2/);
    screen.type('\u001b[B');
    await screen.until(/❯ s {2}yes, for this session/);
    screen.type('x');
    screen.type('n');
    const shown = await screen.until(/completed · 2 steps/);
    expect(shown).toMatch(/✗ LS \/proc\/1 → refused/);
    expect(shown).toContain('you said no: ');
  });
});

test('O24: a question that is answered elsewhere closes by itself', async () => {
  const script: Script = ({ stepOfMessage }) =>
    stepOfMessage === 0 ? { toolCalls: [{ name: 'LS', args: { path: '/proc/1' } }] } : { text: 'Seen.' };
  await withApp(script, async ({ screen, world }) => {
    screen.type(`look outside${ENTER}`);
    await screen.until(/❯ y {2}yes, this once/);
    const odin = await world.open({ models: false });
    const [question] = await odin.questions();
    await odin.answer(question?.id ?? '', 'deny', { by: 'odin answer' });
    await screen.until(/odin answer said no[^]*completed · 2 steps/);
  });
});

test('O1, G8: a plan is accepted, and edit mode carries it out with its changes as a diff', async () => {
  const script: Script = ({ userText, stepOfMessage }) => {
    if (userText.startsWith('make a plan')) return { text: '1. Write `b.txt`.' };
    return stepOfMessage === 0
      ? { toolCalls: [{ name: 'WriteFile', args: { file_path: 'b.txt', content: 'new\nfile\n' } }] }
      : { text: 'Written.' };
  };
  await withApp(
    script,
    async ({ screen }) => {
      screen.type(`make a plan${ENTER}`);
      await screen.until(/What becomes of the plan\?\n[^]*accept it/);
      screen.type(ENTER);
      const shown = await screen.until(/Written\.\n\n {2}completed/);
      expect(shown).toMatch(/edit ❯ The plan above is accepted\./);
      expect(shown).toMatch(/✓ WriteFile b\.txt → created \(\+2 -0 lines\) \(.*\)\n {4}│ \+new\n {4}│ \+file\n/);
      expect(shown.split('\n').at(-1)).toMatch(/^ edit · /);
    },
    { mode: 'plan' },
  );
});
