// Whatever happens in a session, what the three APIs are sent is a conversation that they take: answers that were cut off, empty or
// refused, steps that were cancelled half-way, compactions in between.

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anthropicRequest } from '../../../llm/anthropic-request.ts';
import { buildRequest } from '../../../llm/context/build-request.ts';
import { messagesOf } from '../../../llm/context/draft.ts';
import { EMPTY_HISTORY, foldHistory, type History } from '../../../llm/context/history.ts';
import { draftOf, openingWith } from '../../../llm/context/opening.ts';
import { makeProcessor } from '../../../llm/context/processors/registry.ts';
import { chatRequest } from '../../../llm/openai-chat-request.ts';
import { responsesRequest } from '../../../llm/openai-responses-request.ts';
import { sealed } from '../../../llm/request-text.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { opId } from '../../../shared/ids.ts';
import { type AssistantPart, type ModelRequest, NO_USAGE, type StopReason } from '../../../shared/messages.ts';
import { printedSeed } from '../../support/seed.ts';

const seed = printedSeed('dialects');

const STOPS = ['end', 'tool_calls', 'max_tokens', 'refusal', 'context_full', 'other'] as const;
const happening = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('question' as const), text: fc.constantFrom('Go on.', ' ', '') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('answer' as const),
      stop: fc.constantFrom<StopReason>(...STOPS),
      text: fc.constantFrom('', ' ', 'I see.'),
      thought: fc.boolean(),
      calls: fc.array(fc.constantFrom('', '{}', '{"path":"a"}', '{"half": '), { maxLength: 3 }),
      /** Of the calls, those that came to an end; the others are left open by a cancel or a crash. */
      settled: fc.nat({ max: 7 }),
      facts: fc.option(fc.constantFrom('<facts>\ntodos: none\n</facts>'), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('compaction' as const), n: fc.integer({ min: 1, max: 8 }) }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

test('E18, E4: after any run of answers, ends and compactions the request is one that every API takes', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 25 }), (happenings) => {
      let history = fold(EMPTY_HISTORY, question(1, 'The task.'));
      happenings.forEach((one, at) => {
        history = happen(history, one, at + 2);
      });
      // The machine asks the model when the newest step is closed, and not behind its own answer.
      history = fold(history, question(99, 'And now?'));
      const request = requestOf(history);
      checkAnthropic(JSON.parse(anthropicRequest(request).body));
      checkResponses(responsesRequest(request).body);
      checkChat(chatRequest(request));
    }),
    { seed, numRuns: 200 },
  );
});

const fold = (history: History, ...events: readonly JournalEvent[]) => events.reduce(foldHistory, history);

function happen(history: History, one: Happening, seq: number): History {
  if (one.type === 'question') return fold(history, question(seq, one.text));
  if (one.type === 'compaction') return compacted(history, one.n, seq);
  const op = opId(seq, 1, 0);
  const callIds = one.calls.map((_, k) => `c${seq}.${k}`);
  const parts: AssistantPart[] = [
    ...(one.thought
      ? [{ type: 'thinking' as const, text: 'Hm.', opaque: sealed('anthropic', 'other', { type: 'thinking' }) }]
      : []),
    { type: 'text', text: one.text },
    ...one.calls.map((rawArgs, k) => ({ type: 'tool_call' as const, callId: callIds[k] ?? '', name: 'LS', rawArgs })),
  ];
  const request: JournalEvent = {
    type: 'llm.req',
    op,
    model: 'p/m',
    reqHash: '',
    attempt: 1,
    at: 0,
    ...(one.facts ? { facts: one.facts } : {}),
  };
  // A step that is open is closed before anybody is asked again.
  const ready = history.open ? fold(history, question(seq, 'Go on.')) : history;
  const answered = fold(ready, request, {
    type: 'llm.res',
    op,
    parts: { inline: parts },
    calls: [],
    stop: one.stop,
    usage: NO_USAGE,
    model: 'm',
    at: 0,
  });
  const settled = callIds.filter((_, k) => (one.settled >> k) & 1);
  return fold(answered, ...settled.map((callId, k) => done(callId, opId(seq, 1, k + 1))));
}

function compacted(history: History, n: number, seq: number): History {
  if (history.open) return history;
  const about = { task: { words: '', todos: '', files: [] }, keepRecent: 0, excessChars: 1 };
  const step = makeProcessor({ use: 'keepLastN', n })(draftOf(history.messages), about);
  if (step.type !== 'done') return history;
  const opening = openingWith(
    { bodies: ['The task.'], changedFiles: [], grants: [] },
    { task: 1000, earlier: 1000, summary: 1000 },
  );
  return fold(history, {
    type: 'compact.done',
    op: opId(seq, 1, 0),
    why: 'window',
    messages: { inline: messagesOf(step.draft, opening) },
    processors: ['keepLastN'],
    tokensBefore: 2,
    tokensAfter: 1,
    at: 0,
  });
}

const question = (seq: number, body: string): JournalEvent => ({
  type: 'msg.start',
  seq,
  mid: `m${seq}`,
  mode: 'ask',
  body: { inline: body },
  model: 'p/m',
  smallModel: 'p/s',
  limits: { maxSteps: 25 },
  at: 0,
});

const done = (callId: string, op: ReturnType<typeof opId>): JournalEvent => ({
  type: 'tool.done',
  op,
  callId,
  name: 'LS',
  kind: 'ok',
  text: { inline: 'a.ts' },
  description: '',
  affectedFiles: [],
  resultHash: '',
  durationMs: 0,
  at: 0,
});

const requestOf = (history: History): ModelRequest =>
  buildRequest({
    sid: 's',
    mode: 'ask',
    root: '/p',
    instructions: '',
    model: 'gpt-6',
    tools: [],
    maxOutputTokens: 1_000,
    history,
  });

type Loose = Readonly<Record<string, unknown>>;
const list = (value: unknown): readonly Loose[] => (Array.isArray(value) ? (value as readonly Loose[]) : []);
const isFilled = (text: unknown): boolean => typeof text === 'string' && text.trim() !== '';

/** Begins with the user, no empty block, every tool_use answered at the head of the next message. */
function checkAnthropic(body: object): void {
  const messages = list((body as Loose)['messages']);
  expect(messages[0]?.['role']).toBe('user');
  let open: readonly unknown[] = [];
  for (const { role, content } of messages) {
    const blocks = list(content);
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) if (block['type'] === 'text') expect(isFilled(block['text'])).toBe(true);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    for (const result of results) expect(isFilled(result['content'])).toBe(true);
    expect(results.map((result) => result['tool_use_id'])).toEqual(open);
    expect(blocks.slice(0, results.length)).toEqual(results);
    open = role === 'assistant' ? blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id) : [];
    if (role === 'assistant') expect(blocks.at(-1)?.['type']).not.toBe('thinking');
  }
  expect(open).toEqual([]);
  expect(messages.at(-1)?.['role']).toBe('user');
}

/** Every call is followed by its output, in order, before anything else is said. */
function checkResponses(body: object): void {
  let open: unknown[] = [];
  for (const item of list((body as Loose)['input'])) {
    if (item['type'] === 'function_call') {
      expect(() => JSON.parse(String(item['arguments'])) as unknown).not.toThrow();
      open.push(item['call_id']);
    } else if (item['type'] === 'function_call_output') {
      expect(item['call_id']).toBe(open.shift());
      expect(isFilled(item['output'])).toBe(true);
    } else {
      expect(open).toEqual([]);
      expect(isFilled(item['content'])).toBe(true);
    }
  }
  expect(open).toEqual([]);
  open = [];
}

/** The same, and an assistant message says something or calls something. */
function checkChat(body: object): void {
  let open: unknown[] = [];
  const messages = list((body as Loose)['messages']).filter(({ role }) => role !== 'system');
  expect(messages[0]?.['role']).toBe('user');
  for (const message of messages) {
    if (message['role'] === 'tool') {
      expect(message['tool_call_id']).toBe(open.shift());
      expect(isFilled(message['content'])).toBe(true);
      continue;
    }
    expect(open).toEqual([]);
    const calls = list(message['tool_calls']);
    expect(isFilled(message['content']) || calls.length > 0).toBe(true);
    open = calls.map(({ id }) => id);
  }
  expect(open).toEqual([]);
}
