import { describe, expect, test } from '@jest/globals';
import { describeCall } from '../../cli/describe-call.ts';
import { describeResult } from '../../cli/describe-result.ts';
import { EXIT, exitCodeOf } from '../../cli/exit-codes.ts';
import { noPaint, paintFor } from '../../cli/paint.ts';
import { createJsonRenderer, jsonLine } from '../../cli/render-json.ts';
import { createPlainRenderer, type PlainOptions } from '../../cli/render-plain.ts';
import { table } from '../../cli/table.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';

type Bare = StreamEvent extends infer E
  ? E extends StreamEvent
    ? Omit<E, 'session' | 'id' | 'at' | 'seq'>
    : never
  : never;

const usage = { input: 12_345, output: 678, cacheRead: 9_000, cacheWrite: 0 };
const event = (bare: Bare): StreamEvent => ({ session: 'S1', id: '1-1', at: 1000, seq: 1, ...bare });

/** As in journals of old. */
const UNPRICED = { costUsd: null, spending: [] } as const;

const call = (op: string, tool: string, args: Record<string, string | number>): Bare => ({
  type: 'ToolCallStart',
  op,
  callId: op,
  tool,
  args,
});
const ended = (op: string, tool: string, durationMs: number, status: 'ok' | 'failed' = 'ok'): Bare => ({
  type: 'ToolCallEnd',
  op,
  callId: op,
  tool,
  status,
  durationMs,
});
const result = (op: string, tool: string, description: string, status: 'ok' | 'failed' = 'ok'): Bare => ({
  type: 'ToolResult',
  op,
  callId: op,
  tool,
  status,
  description,
  text: 'long',
  affectedFiles: [],
});

/** A message with two parallel calls, a retry, todos, and an answer in pieces. */
const MESSAGE: readonly Bare[] = [
  { type: 'SessionOpened', root: '/p', instructions: [{ path: 'ODIN.md', trusted: false, bytes: 9 }] },
  { type: 'MessageStarted', mode: 'ask', body: 'where?', model: 'a/big' },
  { type: 'StepStarted', step: 1, attempt: 1 },
  { type: 'StreamText', delta: 'I look\u001b[3' },
  { type: 'StreamText', delta: '1m around.' },
  { type: 'StepText', step: 1, text: 'I look\u001b[31m around.' },
  call('1.1.1', 'Grep', { pattern: 'retry', path: 'src' }),
  call('1.1.2', 'ReadFile', { file_path: 'a.ts', offset: 5, limit: 10 }),
  ended('1.1.2', 'ReadFile', 7, 'failed'),
  { type: 'ToolProgress', op: '1.1.1', text: 'searching' },
  ended('1.1.1', 'Grep', 1234),
  result('1.1.1', 'Grep', 'Found 12 lines for "retry" in src'),
  result('1.1.2', 'ReadFile', 'a.ts does not exist\u202e', 'failed'),
  { type: 'TodosChanged', todos: [{ id: '1', content: 'find it', status: 'in_progress' }] },
  { type: 'StepStarted', step: 2, attempt: 1 },
  { type: 'StreamText', delta: 'It is' },
  { type: 'RetryScheduled', code: 'overloaded', message: 'It is busy.', dueAt: 3500, attempt: 2, attempts: 6 },
  { type: 'StepStarted', step: 2, attempt: 2 },
  { type: 'StreamText', delta: 'It is in ' },
  { type: 'StreamText', delta: '**a.ts**' },
  { type: 'StepText', step: 2, text: 'It is in **a.ts**:1' },
  {
    type: 'Usage',
    step: 2,
    model: 'a/big',
    usage,
    estimated: false,
    costUsd: null,
    window: { tokens: 13_023, size: 0 },
  },
  { type: 'PersistMessage', mode: 'ask', status: 'completed', answer: 'It is in **a.ts**:1', steps: 2 },
  { type: 'AgentDone', status: 'completed', answer: 'It is in **a.ts**:1', steps: 2, usage, ...UNPRICED },
];

function play(events: readonly Bare[], options: Partial<PlainOptions> = {}) {
  let out = '';
  let err = '';
  let both = '';
  const renderer = createPlainRenderer({
    out: { write: (text: string) => ((out += text), (both += text)) },
    err: { write: (text: string) => ((err += text), (both += text)) },
    paint: noPaint,
    outIsTerminal: false,
    errIsTerminal: false,
    showPrompts: false,
    ...options,
  });
  for (const bare of events) renderer.show(event(bare));
  return { out, err, both };
}

describe('G1: the plain renderer', () => {
  test('in a pipe, the answer alone is on stdout and each call is one line on stderr', () => {
    const { out, err } = play(MESSAGE);
    expect(out).toBe('It is in **a.ts**:1\n');
    expect(err.split('\n')).toEqual([
      'session S1 in /p',
      'instructions: ODIN.md (not trusted: taken as information; `odin trust` changes that)',
      'ask mode, a/big',
      'I look around.',
      '  searching',
      '● Grep "retry" in src → 12 lines (1.2 s)',
      '● ReadFile a.ts:5-14 → failed: a.ts does not exist<U+202E> (7 ms)',
      '  ◐ find it',
      '! the provider is overloaded: trying again in 2.5 s (try 2 of 6)',
      '  It is busy.',
      'completed · 2 steps · 12,345 tokens in (9,000 cached), 678 out',
      '',
    ]);
  });

  test('in a terminal the text streams to stdout, once, clean, and lines never begin in the middle of another', () => {
    const { out, both } = play(MESSAGE, { outIsTerminal: true });
    expect(out).toBe('I look around.\nIt is\nIt is in **a.ts**:1\n');
    expect(both.split('\n').slice(3, 5)).toEqual(['I look around.', '  searching']);
    expect(both).toContain('It is\n! the provider is overloaded: trying again');
  });

  test('the line that says what goes on is taken back before anything else is printed', () => {
    const { err } = play(MESSAGE, { errIsTerminal: true });
    expect(err).toContain('thinking (step 1)…\r\u001b[2KI look around.\n');
    expect(err).toContain('waiting…\r\u001b[2Kthinking (step 2)…\r\u001b[2K');
    expect(err).toMatch(/12,345 tokens in \(9,000 cached\), 678 out\n$/);
  });

  test('a stream with a hole is told, and the whole text printed', () => {
    const { out, err } = play(
      [
        { type: 'StepStarted', step: 1, attempt: 1 },
        { type: 'StreamText', delta: 'one three' },
        { type: 'StepText', step: 1, text: 'one two three' },
        { type: 'AgentDone', status: 'completed', answer: 'one two three', steps: 1, usage, ...UNPRICED },
      ],
      { outIsTerminal: true },
    );
    expect(out).toBe('one three\none two three\n');
    expect(err).toContain('(parts of the stream were lost; the whole text:)');
  });

  test('a piece that comes after the whole text, as from another process it can, is not printed again', () => {
    const { out } = play(
      [
        { type: 'StreamText', delta: 'old' },
        { type: 'StepStarted', step: 1, attempt: 1 },
        { type: 'StepText', step: 1, text: 'whole' },
        { type: 'StreamText', delta: 'whole' },
        { type: 'AgentDone', status: 'completed', answer: 'whole', steps: 1, usage, ...UNPRICED },
        { type: 'StreamText', delta: 'whole' },
      ],
      { outIsTerminal: true },
    );
    expect(out).toBe('whole\n');
  });

  test('O2: what a stopped message said before is not printed again with its answer', () => {
    const { out, err } = play(
      [
        { type: 'StepStarted', step: 1, attempt: 1 },
        { type: 'StepText', step: 1, text: 'I look.' },
        call('1.1.1', 'LS', { path: '.' }),
        { type: 'AgentDone', status: 'step_limit', answer: 'I look.\n\n[Stopped]', steps: 1, usage, ...UNPRICED },
      ],
      { outIsTerminal: true },
    );
    expect(out).toBe('I look.\n[Stopped]\n');
    expect(err).toContain('stopped at the step limit (--max-steps raises it) · 1 step');
  });

  test('O2 E9: an answer that came in pieces is on the terminal once, and why it did is said between them', () => {
    const pieces: readonly Bare[] = [
      { type: 'StepStarted', step: 1, attempt: 1 },
      { type: 'StepText', step: 1, text: 'Look.' },
      call('1.1.1', 'LS', { path: '.' }),
      { type: 'StepStarted', step: 2, attempt: 1 },
      { type: 'StepText', step: 2, text: 'The first half, ' },
      { type: 'AnswerCut', step: 2, why: 'output_limit' },
      { type: 'StepStarted', step: 3, attempt: 1 },
      { type: 'StepText', step: 3, text: 'the second.' },
      { type: 'AgentDone', status: 'completed', answer: 'The first half, the second.', steps: 3, usage, ...UNPRICED },
    ];
    const { out, both } = play(pieces, { outIsTerminal: true });
    expect(out).toBe('Look.\nThe first half, \nthe second.\n');
    expect(both).toContain('half, \n! the answer was cut off at the output limit; the model is asked to go on\n');
    expect(play(pieces).out).toBe('The first half, the second.\n');
  });

  test('E9: a wait, a change of model and a failure say what it was, in which try and at which step', () => {
    const { err } = play(
      [
        { type: 'RetryScheduled', code: 'rate_limit', message: 'HTTP 429', dueAt: 13_000, attempt: 2, attempts: 3 },
        { type: 'ModelChanged', from: 'a/big', to: 'b/other', code: 'overloaded', message: 'HTTP 529' },
        { type: 'AgentError', code: 'auth', message: 'Check the key.', step: 3 },
        { type: 'AgentDone', status: 'planner_failure', answer: '[Failed]', steps: 3, usage, ...UNPRICED },
      ],
      { errIsTerminal: true },
    );
    expect(err).toContain('! rate limit: trying again in 12.0 s (try 2 of 3), Ctrl-C cancels\n  HTTP 429\n');
    expect(err).toContain('! a/big: the provider is overloaded; asking b/other instead\n  HTTP 529\n');
    expect(err).toContain('✗ step 3: auth: Check the key.\nfailed: the key was refused · 3 steps');
  });

  test('questions, cancellation, errors and prompts of others are told', () => {
    const { err } = play(
      [
        { type: 'MessageQueued', mode: 'edit', body: 'x', position: 2 },
        { type: 'MessageStarted', mode: 'edit', body: 'fix\u0007 it', model: 'a/b' },
        {
          type: 'PermissionAsked',
          questionId: 'q',
          title: 'Run it?',
          reasons: ['it writes'],
          detail: 'rm x\nrm y',
          agent: 'main',
          paths: [{ path: '/etc/x', outside: true, why: 'deleted' }],
          rule: null,
          expiresAt: null,
        },
        { type: 'PermissionAnswered', questionId: 'q', decision: 'deny', by: 'terminal' },
        { type: 'CancelRequested', by: 'SIGINT' },
        { type: 'AgentError', code: 'auth', message: 'The key\nis wrong.', step: 1 },
        { type: 'StreamThinking', delta: 'hidden' },
      ],
      { showPrompts: true },
    );
    expect(err.split('\n')).toEqual([
      'message 1 waits at position 2',
      'edit> fix\ufffd it',
      'edit mode, a/b',
      '? Run it? (asked by main, question q)',
      '  because it writes',
      '  ! outside the project: /etc/x (deleted)',
      '  | rm x',
      '  | rm y',
      '  deny, by terminal',
      'cancelling, asked by SIGINT',
      '✗ step 1: auth: The key is wrong.',
      '',
    ]);
  });
});

describe('G4: the JSON renderer', () => {
  test('prints each event as one line that parses back to it, without a character that a terminal obeys', () => {
    const lines: string[] = [];
    const renderer = createJsonRenderer({ write: (text: string) => lines.push(text) });
    const events = MESSAGE.map(event);
    for (const one of events) renderer.show(one);
    expect(lines.map((line) => JSON.parse(line))).toEqual(events);
    expect(lines.join('')).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(jsonLine('\u009b\u202e')).toBe('"\\u009b\\u202e"\n');
  });
});

describe('words and numbers', () => {
  test.each([
    ['Grep', { pattern: 'a b' }, 'Grep "a b"'],
    ['LS', { path: '/p' }, 'LS /p'],
    ['ReadFile', { file_path: '/p/a', offset: 9 }, 'ReadFile /p/a:9-'],
    ['TodoWrite', { todos: [{}, {}] }, 'TodoWrite 2 items'],
    ['ExecuteCommand', { timeout: 3, command: 'ls\n-l\u001b[0m' }, 'ExecuteCommand ls -l'],
    ['Odd', null, 'Odd'],
    ['Long', { text: 'x'.repeat(300) }, `Long ${'x'.repeat(94)}…`],
  ])('a call of %s with %j in a few words', (tool, args, expected) => {
    expect(describeCall(tool, args)).toBe(expected);
  });

  test.each([
    ['Found 200 files for **/*.ts in src', '200 files'],
    ['Found more than 250 lines for "a for b" in .', 'more than 250 lines'],
    ['Listed src (12 entries)', '12 entries'],
    ['Read a (1).ts (40 lines)', '40 lines'],
    ['Read src/a.ts lines 5-14 of 90', 'lines 5-14 of 90'],
    ['Anything else', 'Anything else'],
  ])('%j after its call is %j', (description, short) => {
    expect(describeResult(description)).toBe(short);
  });

  test('O2: every end of a message has its exit code', () => {
    const codes = (
      ['completed', 'step_limit', 'budget', 'repeated_calls', 'cancelled', 'planner_failure'] as const
    ).map(exitCodeOf);
    expect(codes).toEqual([EXIT.completed, EXIT.limit, EXIT.limit, EXIT.limit, EXIT.cancelled, EXIT.failed]);
    expect(EXIT).toEqual({ completed: 0, failed: 1, usage: 2, limit: 3, cancelled: 130 });
  });

  test('colour is for terminals that want it', () => {
    expect(paintFor({ isTTY: true }, {})('red', 'x')).toBe('\u001b[31mx\u001b[39m');
    expect(paintFor({ isTTY: true }, { NO_COLOR: '1' })('red', 'x')).toBe('x');
    expect(paintFor({ isTTY: true }, { TERM: 'dumb' })('red', 'x')).toBe('x');
    expect(paintFor({}, {})('red', 'x')).toBe('x');
  });

  test('columns are as wide as their widest cell', () => {
    expect(
      table([
        ['A', 'B'],
        ['longer', 'x'],
        ['é', ''],
      ]),
    ).toBe('A       B\nlonger  x\né\n');
  });
});
