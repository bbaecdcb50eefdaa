// What is drawn where there is little room, and which key a question takes: each at the component itself, without a session.

import { Editor, TuiMainScreen, visibleWidth } from '@earendil-works/pi-tui';
import { expect, test } from '@jest/globals';
import { createCompletion } from '../../../cli/tui/completion.ts';
import { createAnswer } from '../../../cli/tui/components/answer.ts';
import { rowLines } from '../../../cli/tui/components/lines.ts';
import { Picker } from '../../../cli/tui/components/picker.ts';
import { queueLines, todoLines } from '../../../cli/tui/components/side-lists.ts';
import { toolLines } from '../../../cli/tui/components/tool-lines.ts';
import { Transcript } from '../../../cli/tui/components/transcript.ts';
import { addNote, reduce } from '../../../cli/tui/model.ts';
import { createSlot } from '../../../cli/tui/slot.ts';
import { editorTheme, themeNamed } from '../../../cli/tui/theme.ts';
import { EMPTY_VIEW, type View } from '../../../cli/tui/view.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { createScreen } from './screen.ts';

const theme = themeNamed('plain');
const base = { session: 's', id: '1-1', at: 1, seq: 1 };
const folded = (...events: readonly object[]): View =>
  events.reduce<View>((view, event) => reduce(view, { ...base, ...event } as StreamEvent), EMPTY_VIEW);
const begun = { type: 'MessageStarted', mode: 'edit', body: 'x', model: 'm/n' };
const asked = { type: 'PermissionAsked', questionId: 'q', title: 'Run it?', reasons: [], detail: 'it', agent: 'main' };
const question = folded(begun, { ...asked, paths: [], rule: null, expiresAt: null }).questions;

test('G6: a letter right after a question has opened over a half typed message goes on with the message; later it answers, and at once where nothing is typed', () => {
  const screen = createScreen();
  const tui = new TuiMainScreen(screen, true);
  const editor = new Editor(tui, editorTheme(theme));
  let clock = 10_000;
  const answers: string[] = [];
  const slot = createSlot({
    ...{ tui, editor, theme: () => theme, rows: () => 30, now: () => clock, redrawSoon() {}, answerFailed() {} },
    lastKeyAt: () => 0,
    answer: async (_, decision) => void answers.push(decision),
  });
  const key = (data: string) => {
    if (slot.giveWay(data)) slot.arrange([]);
    for (const component of slot.container.children) component.handleInput?.(data);
  };
  tui.addChild(slot.container);
  editor.setText('half a sentenc');
  slot.arrange(question);
  key('e');
  expect([slot.isTaken(), editor.getText(), answers]).toEqual([false, 'half a sentence', []]);
  slot.arrange(question);
  clock += 2_000;
  key('y');
  expect([slot.isTaken(), editor.getText(), answers]).toEqual([true, 'half a sentence', ['allow']]);
  slot.arrange([]);
  editor.setText('');
  slot.arrange(question);
  key('n');
  expect(answers).toEqual(['allow', 'deny']);
});

test('G1: what Enter and the other keys do in a list, and at the queue, is whole on 60 columns; lists that nothing works on are a line', () => {
  const keys = Object.fromEntries(
    ['ctrl+d', 'ctrl+s', 'ctrl+p'].map((key) => [key, { label: `${key} does this`, act() {} }]),
  );
  const items = [{ value: 'a', label: 'a' }];
  const rest = { keys, enter: 'edits', theme, rows: () => 20, onPick() {}, onCancel() {} };
  const list = new Picker({ title: 'List', items, ...rest })
    .render(60)
    .join(' ')
    .replace(/[\s│]+/g, ' ');
  expect(list).toContain('Enter edits · Esc leaves · ctrl+d does this · ctrl+s does this · ctrl+p does this');
  const queue = [{ seq: 1, mid: 'm', mode: 'ask', body: 'x', timestamp: 1 }] as const;
  expect(queueLines(queue, theme, 60).at(-1)).toBe('   Alt-Up edits the last one · /queue shows all');
  const todos = Array.from({ length: 40 }, (_, i) => ({
    ...{ id: String(i), content: `number ${i + 1}` },
    status: i < 12 ? ('completed' as const) : ('pending' as const),
  }));
  expect(todoLines(todos, theme, 80)).toHaveLength(9);
  expect(todoLines(todos, theme, 80, false)).toEqual([' todos 12 of 40, next: number 13']);
});

test('G1: a row of a table that is too long goes on below its last column, and loses nothing', () => {
  const words = 'not trusted: once its text was read, commands that reach the network are asked about';
  const rows = rowLines(`ok  trust in this folder  ${words}`, 60);
  expect(rows[0]).toMatch(/^ {2}ok {2}trust in this folder {2}not trusted/);
  for (const row of rows.slice(1)) expect(row).toMatch(/^ {28}\S/);
  expect(rows.map((row) => row.slice(28)).join(' ')).toBe(words);
  // A column that begins in the middle of the screen, whatever stands around it.
  for (const gap of [20, 24, 26, 28, 30, 31])
    expect(rowLines(`ok${' '.repeat(gap)}${words}`, 60)[1]).toMatch(new RegExp(`^ {${4 + gap}}\\S`));
  for (const text of ['x'.repeat(200), `${'文字'.repeat(60)}  x`, '  a  b', '']) {
    const lines = rowLines(text, 40);
    expect(Math.max(...lines.map(visibleWidth))).toBeLessThanOrEqual(40);
    expect(lines.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
  }
});

test('G1: code that wraps begins each line at its margin, and a joined emoji stands as its parts, as wide as every terminal draws it', () => {
  const code = createAnswer(theme).lines(`\`\`\`\n${'x'.repeat(50)}\n\`\`\``, 20);
  expect(code.slice(1, -1)).toEqual(['x'.repeat(20), 'x'.repeat(20), 'x'.repeat(10)]);
  expect(createAnswer(theme).lines('a 👨‍👩‍👧 ❤️‍🔥 b\u200dc', 60)).toEqual(['a 👨👩👧 ❤️🔥 b<U+200D>c']);
});

test('G1: why a message failed or was refused stands there once', () => {
  const message = 'There is nothing to undo: no other message has changed files.';
  const end = {
    type: 'AgentDone',
    steps: 0,
    costUsd: null,
    usage: { input: 0, output: 0, cacheRead: 0 },
    spending: [],
  };
  for (const [error, answer] of [
    [{ code: 'nothing_to_move', step: 0 }, `[Refused: ${message}]`],
    [{ code: 'auth', step: 1 }, `[Failed at step 1: auth: ${message}]`],
  ] as const) {
    const view = folded(begun, { type: 'AgentError', ...error, message }, { ...end, status: 'refused', answer });
    const shown = new Transcript(view, theme).render(100).join('\n');
    expect(shown.split(message)).toHaveLength(2);
    expect(shown).not.toContain(error.code);
  }
});

test('G1: of a long change the rest is offered under the key or the command that shows it; opened output is whole', () => {
  const args = { file_path: 'a', content: Array.from({ length: 900 }, (_, i) => `line ${i}`).join('\n') };
  const tool = {
    kind: 'tool',
    op: '1.1.1',
    tool: 'WriteFile',
    args,
    status: 'ok',
    startedAt: 0,
    durationMs: 1,
  } as const;
  const lines = (isOpen: boolean) =>
    toolLines({ ...tool, description: '', text: '', progress: [] }, theme, 80, isOpen).join('\n');
  expect(lines(false)).toMatch(/… 886 more lines \(Ctrl-O\)/);
  expect(lines(true)).toMatch(/… 500 more lines \(\/diff shows all\)/);
  const text = `${'word '.repeat(40)}end`;
  const read = { ...tool, tool: 'ReadFile', description: '', text, progress: [] } as const;
  expect(
    toolLines(read, theme, 60, true)
      .slice(1)
      .join(' ')
      .replace(/[\s│]+/g, ' ')
      .trim(),
  ).toBe(text);
  const note = addNote(EMPTY_VIEW, 'bar 10 %\rbar 100 %\r\n  two', 'table');
  expect(new Transcript(note, theme).render(60)).toEqual(['  bar 10 %', '  bar 100 %', '    two', '']);
});

test('G1: a message of thousands of lines shows its beginning, and all of it once it is opened', () => {
  const body = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join('\n');
  const transcript = new Transcript(folded({ ...begun, body }), theme);
  expect(transcript.render(80).join('\n')).toMatch(
    /edit ❯ line 0\n {7}line 1\n[^]* {7}line 7\n {7}… 4992 more lines \(Ctrl-O\)\n*$/,
  );
  transcript.toggle();
  expect(transcript.render(80).length).toBeGreaterThan(5_000);
});

test('G1: files that match as well are offered the shortest first, whatever order they were listed in; one with controls in its name is not', async () => {
  const paths = [
    'src/deep/down/read.ts',
    'read.ts',
    'b/read.ts',
    'a/read.ts',
    're\u001b]0;x\u0007ad.ts',
    're\u202ead.ts',
  ];
  const completion = createCompletion(
    () => [],
    async () => paths,
  );
  const { signal } = new AbortController();
  const found = await completion.getSuggestions(['@'], 0, 1, { signal });
  expect(found?.items.map(({ value }) => value)).toEqual([
    'read.ts',
    'a/read.ts',
    'b/read.ts',
    'src/deep/down/read.ts',
  ]);
});
