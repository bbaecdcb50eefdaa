// What tools and models say is drawn and does nothing else: no sequence of theirs reaches the terminal (SAFETY 4, "Terminal cleaning").

import { expect, test } from '@jest/globals';
import { splitBlocks } from '../../../cli/tui/components/answer.ts';
import { PermissionDialog } from '../../../cli/tui/components/permission-dialog.ts';
import { Picker } from '../../../cli/tui/components/picker.ts';
import { agentLines, queueLines, todoLines } from '../../../cli/tui/components/side-lists.ts';
import { activityLine, statusLine } from '../../../cli/tui/components/status-line.ts';
import { Transcript } from '../../../cli/tui/components/transcript.ts';
import { loadHighlighter } from '../../../cli/tui/highlight.ts';
import { addNote, reduce } from '../../../cli/tui/model.ts';
import { themeNamed } from '../../../cli/tui/theme.ts';
import { typeable, typeableKey } from '../../../cli/tui/typeable.ts';
import { EMPTY_VIEW, type View } from '../../../cli/tui/view.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

const theme = themeNamed('dark');
/** Sequences that write the clipboard, set the title, move, clear, link, ask the terminal, and their 8-bit and entity forms. */
const ATTACKS = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b]0;title\u0007',
  '\u001b[2J\u001b[H',
  '\u001b[10A',
  '\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\',
  '\u001b[6n',
  '\u001b[?1049h',
  '\u001bP+q544e\u001b\\',
  '\u009b2J',
  '\u009d52;c;ZXZpbA==\u009c',
  '&#27;[2J&#x1b;]0;title&#7;',
  '\u001b_pi:c\u0007',
  '\rfake',
  '\b\b\b',
  '\u202egnp.exe',
  '\u001b',
  '[link](javascript:alert(1) "\u001b[2J")',
  '```\u001b[2J\n\u001b]0;x\u0007\n```',
] as const;
/** Only colour and weight, which close themselves, and the mark where the cursor goes, which pi-tui takes out. */
const HARMLESS = /\u001b\[[0-9;]*m|\u001b_pi:c\u0007/g;

const base = { session: 's', id: '1-1', at: 1, seq: 1 };
const folded = (...events: readonly object[]): View =>
  events.reduce<View>((view, event) => reduce(view, { ...base, ...event } as StreamEvent), EMPTY_VIEW);

function expectHarmless(lines: readonly string[], width: number): void {
  for (const line of lines) {
    expect(line.replace(HARMLESS, '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(line.replace(HARMLESS, '').length).toBeLessThanOrEqual(width * 2);
  }
}

test('G1: no sequence of a model, a tool, a file name or a question gets to the terminal, wherever it stands', async () => {
  await loadHighlighter();
  for (const evil of ATTACKS) {
    const view = folded(
      { type: 'MessageStarted', mode: 'edit', body: evil, model: `m/${evil}` },
      { type: 'StepStarted', step: 1, attempt: 1 },
      { type: 'StreamThinking', delta: `${evil}\nmore` },
      {
        type: 'StreamText',
        delta: `# ${evil}\n\n- ${evil}\n\n| a |\n|---|\n| ${evil} |\n\n\`\`\`ts\n${evil}\n\`\`\`\n\n> ${evil}`,
      },
      {
        type: 'ToolCallStart',
        op: '1.1.1',
        callId: 'c',
        tool: 'EditTool',
        args: { file_path: evil, old_string: evil, new_string: `${evil}x` },
      },
      { type: 'ToolCallStart', op: '1.1.2', callId: 'd', tool: 'ExecuteCommand', args: { command: evil } },
      { type: 'ToolProgress', op: '1.1.2', text: evil },
      { type: 'ToolCallStart', op: '1.1.3', callId: 'e', tool: evil, args: evil },
      { type: 'ToolCallEnd', op: '1.1.3', callId: 'e', tool: evil, status: 'failed', durationMs: 1 },
      {
        type: 'ToolResult',
        op: '1.1.3',
        callId: 'e',
        tool: evil,
        status: 'failed',
        description: evil,
        text: evil,
        affectedFiles: [],
      },
      { type: 'TodosChanged', todos: [{ id: '1', content: evil, status: 'in_progress' }] },
      {
        type: 'AgentSpawned',
        agent: 'a',
        op: '1.1.1',
        title: evil,
        kind: null,
        mode: 'ask',
        model: 'm',
        background: false,
        tools: [],
        prompt: evil,
      },
      { type: 'AgentProgress', agent: 'a', step: 1, doing: evil, tokens: 1, costUsd: null },
      { type: 'UserWord', text: evil, by: evil },
      { type: 'AgentError', step: 1, code: evil, message: evil },
      { type: 'LimitReached', limit: 'steps', message: evil },
      { type: 'ModelChanged', from: evil, to: evil, code: evil },
      { type: 'CancelRequested', by: evil },
      { type: 'HookRan', op: null, event: evil, name: evil, outcome: 'failed', message: evil, args: null },
      { type: 'RetryScheduled', code: evil, message: evil, dueAt: 1, attempt: 1, attempts: 2 },
      {
        type: 'PermissionAsked',
        questionId: 'q',
        title: evil,
        reasons: [evil],
        detail: `--- a\n+++ b\n@@ -1 +1 @@\n+${evil}`,
        agent: evil,
        paths: [{ path: evil, access: 'write', outside: true, why: evil }],
        rule: evil,
        expiresAt: null,
      },
    );
    const question = view.questions[0];
    if (question === undefined) throw new Error('the question is missing');
    const dialog = new PermissionDialog({ question, waiting: () => 1, theme, rows: () => 30, answer: () => {} });
    const items = [{ value: evil, label: evil, description: evil }];
    const picker = new Picker({ title: evil, items, theme, rows: () => 30, onPick: () => {}, onCancel: () => {} });
    const noted = (['table', 'diff', 'bad'] as const).reduce(
      (seen, tone) => addNote(seen, `${evil}\n  ${evil}`, tone),
      view,
    );
    const transcript = new Transcript(addNote(noted, evil), theme);
    for (const width of [20, 80]) {
      const standing = { mode: 'edit', queued: 1, waiting: 2, model: evil, sandbox: '', hint: '' } as const;
      const queue = [{ seq: 1, mid: 'm', mode: 'ask', body: evil, timestamp: 1 }] as const;
      expectHarmless(transcript.render(width), width);
      expectHarmless(dialog.render(width), width);
      expectHarmless(picker.render(width), width);
      expectHarmless([statusLine(view, standing, theme, width), activityLine(view, theme, width, 5)], width);
      expectHarmless([...todoLines(view.todos, theme, width), ...queueLines(queue, theme, width)], width);
      expectHarmless(agentLines(view.agents, theme, width), width);
    }
    transcript.toggle();
    expectHarmless(transcript.render(60), 60);
  }
});

test('G1: nothing that controls a terminal gets into the editor, by a paste, out of the queue or the history', () => {
  for (const evil of ATTACKS) {
    expect(typeable(`a ${evil}\n\tb`)).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/);
    const pasted = typeableKey(`\u001b[200~a ${evil}\u001b[201~`);
    expect(pasted.slice(6, -6)).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/);
  }
  expect(typeable('文字 👨‍👩‍👧\n\tb')).toBe('文字 👨‍👩‍👧\n\tb');
  expect(typeableKey('\u001b[200~a\u001b[106;5ub\u001b[201~')).toBe('\u001b[200~a\nb\u001b[201~');
  for (const key of ['\u001b[A', '\u0003', '\u001b[200~part of a paste']) expect(typeableKey(key)).toBe(key);
  expect(typeableKey('\u009b')).toBe('');
});

test('G6: a question hides nothing of what it is about, however long its lines are, a diff or what looks like one', () => {
  const long = `echo ok${' '.repeat(300)}; ${'x'.repeat(200)} | sh`;
  for (const detail of [`--- a\n+++ b\n@@ -1 +1 @@\n+${long}`, `${long}\n--- of it`]) {
    const asked = { questionId: 'q', title: 'Run it?', reasons: [], detail, agent: 'main', paths: [], rule: null };
    const [question] = folded({ type: 'PermissionAsked', ...asked, expiresAt: null }).questions;
    if (question === undefined) throw new Error('the question is missing');
    const dialog = new PermissionDialog({ question, waiting: () => 1, theme, rows: () => 60, answer: () => {} });
    const shown = dialog.render(60).join('').replace(HARMLESS, '').replace(/[\s│]/g, '');
    expect(shown).toContain(detail.replace(/\s/g, ''));
  }
});

test('G1: a sequence that the stream cuts in two is still none, at whatever place it is cut', () => {
  for (const evil of ATTACKS) {
    for (let cut = 1; cut < evil.length; cut++) {
      const view = folded(
        { type: 'MessageStarted', mode: 'ask', body: 'x', model: 'm' },
        { type: 'StepStarted', step: 1, attempt: 1 },
        { type: 'StreamText', delta: evil.slice(0, cut) },
      );
      const transcript = new Transcript(view, theme);
      expectHarmless(transcript.render(40), 40);
      transcript.show(reduce(view, { ...base, type: 'StreamText', delta: evil.slice(cut) }));
      expectHarmless(transcript.render(40), 40);
    }
  }
});

test('G1: the blocks of an answer are its text again, and those before the last blank line stay as they are while it grows', () => {
  const pieces = [
    'para',
    '# head',
    '- a\n- b',
    '\n\n',
    '\n',
    '```ts\ncode\n\nmore\n```',
    '~~~\n\n```\n~~~',
    '1. x\n\n2. y',
    '    deep',
    '| a |\n|---|\n| b |',
    '```',
    ' ',
    '文字🙂',
  ];
  const random = randomFrom(printedSeed('tui blocks'));
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 12 }, () => pieces[random(pieces.length)]).join('\n');
    const plain = (value: string) => value.replace(/\s+/g, ' ').trim();
    expect(plain(splitBlocks(text).join('\n\n'))).toBe(plain(text));
    for (let end = 1; end < text.length; end += 7) {
      const before = splitBlocks(text.slice(0, end)).slice(0, -2);
      expect(splitBlocks(text).slice(0, before.length)).toEqual(before);
    }
  }
});
