// The message processors: what holds for each, and for any of them one after the other.

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Draft, messagesOf, newestFrom } from '../../../llm/context/draft.ts';
import type { About, Processor } from '../../../llm/context/processors/processor.ts';
import {
  DEFAULT_PROCESSORS,
  makeProcessor,
  type ProcessorSettings,
  processorSchema,
} from '../../../llm/context/processors/registry.ts';
import type { ModelMessage, ToolResultPart } from '../../../shared/messages.ts';
import { conversation, faultsOf } from '../../support/conversations.ts';
import { printedSeed } from '../../support/seed.ts';

const seed = printedSeed('processors');
const runs = { seed, numRuns: 300 };

const settings: fc.Arbitrary<ProcessorSettings> = fc.oneof(
  fc.record({ use: fc.constant('truncateLongTools' as const), maxChars: fc.integer({ min: 400, max: 2_000 }) }),
  fc.record({
    use: fc.constant('dropLessRelevant' as const),
    minChars: fc.integer({ min: 300, max: 2_000 }),
    keepShare: fc.constantFrom(0, 0.25, 1),
  }),
  fc.record({ use: fc.constant('summarizeOlderThanN' as const), n: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ use: fc.constant('keepLastN' as const), n: fc.integer({ min: 1, max: 40 }) }),
);

const about = fc.record({
  task: fc.record({
    words: fc.constantFrom('', 'parse the config'),
    todos: fc.constant('login'),
    files: fc.constant(['a.ts']),
  }),
  keepRecent: fc.integer({ min: 0, max: 12 }),
  excessChars: fc.constantFrom(0, 500, 5_000, Number.POSITIVE_INFINITY),
});

const draftOf = (messages: readonly ModelMessage[]): Draft => ({ summary: null, gone: 0, messages });

/** The lesser model answers, or does not. */
const run = (processor: Processor, draft: Draft, given: About, summary: string | null): Draft => {
  const step = processor(draft, given);
  return step.type === 'done' ? step.draft : step.apply(summary);
};

const conversationOf = (draft: Draft) => messagesOf(draft, ({ gone }) => `[${gone} earlier messages]`);

test('E4 E18: after any processors in any order, calls have their results, none is empty, and the user begins', () => {
  const summaries = fc.constantFrom('What was done.', '', null);
  fc.assert(
    fc.property(
      conversation,
      fc.array(fc.tuple(settings, summaries), { maxLength: 6 }),
      about,
      (messages, chosen, given) => {
        const draft = chosen.reduce(
          (now, [one, summary]) => run(makeProcessor(one), now, given, summary),
          draftOf(messages),
        );
        expect(faultsOf(conversationOf(draft))).toEqual([]);
        expect(draft.gone + draft.messages.length).toBe(messages.length);
      },
    ),
    runs,
  );
});

test('E4: the newest messages stay as they are, whatever a processor does to the older ones', () => {
  fc.assert(
    fc.property(conversation, settings, about, (messages, one, given) => {
      const after = run(makeProcessor(one), draftOf(messages), given, 'What was done.');
      const kept = one.use === 'keepLastN' ? one.n : given.keepRecent;
      const newest = messages.slice(newestFrom(messages, kept));
      expect(after.messages.slice(after.messages.length - newest.length)).toEqual(newest);
    }),
    runs,
  );
});

test('E4: truncateLongTools, summarizeOlderThanN and keepLastN change nothing the second time', () => {
  fc.assert(
    fc.property(conversation, settings, about, (messages, one, given) => {
      fc.pre(one.use !== 'dropLessRelevant');
      const once = run(makeProcessor(one), draftOf(messages), given, 'What was done.');
      expect(run(makeProcessor(one), once, given, 'Something else.')).toEqual(once);
    }),
    runs,
  );
});

test('E4: truncateLongTools cuts results and arguments to the limit, keeps head and tail, and says how to read it again', () => {
  const long = `first line\n${'x'.repeat(50_000)}\nlast line`;
  const messages: ModelMessage[] = [
    { role: 'user', text: 'Go' },
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', callId: 'r', name: 'ReadFile', rawArgs: '{"file_path":"a.ts"}' },
        {
          type: 'tool_call',
          callId: 'w',
          name: 'WriteFile',
          rawArgs: JSON.stringify({ file_path: 'b.ts', content: long }),
        },
      ],
    },
    {
      role: 'tool',
      results: [
        { callId: 'r', name: 'ReadFile', text: long, isError: false },
        { callId: 'w', name: 'WriteFile', text: 'Written.', isError: false },
      ],
    },
  ];
  const processor = makeProcessor({ use: 'truncateLongTools', maxChars: 1_000 });
  const draft = run(processor, draftOf(messages), { ...NOTHING, keepRecent: 0 }, null);
  const [, said, done] = draft.messages;
  const text = done?.role === 'tool' ? (done.results[0]?.text ?? '') : '';
  expect(text.length).toBeLessThanOrEqual(1_000);
  expect(text.startsWith('first line\n')).toBe(true);
  expect(text.endsWith('\nlast line')).toBe(true);
  expect(text).toMatch(/\[… \d+ characters cut here\. Call ReadFile again with the same arguments if you need it\.\]/);
  expect(done?.role === 'tool' && done.results[1]?.text).toBe('Written.');
  const write = said?.role === 'assistant' ? said.parts[1] : undefined;
  const args = JSON.parse(write?.type === 'tool_call' ? write.rawArgs : '') as { file_path: string; content: string };
  expect(args.file_path).toBe('b.ts');
  expect(args.content.length).toBeLessThanOrEqual(1_000);
});

test('E4: without a summary, summarizeOlderThanN keeps every message and cuts its results short', () => {
  const messages = steps(10, () => 'y'.repeat(3_000));
  const processor = makeProcessor({ use: 'summarizeOlderThanN', n: 4 });
  const draft = run(processor, draftOf(messages), NOTHING, null);
  expect(draft.messages).toHaveLength(messages.length);
  expect(draft.summary).toBeNull();
  const lengths = resultsOf(draft.messages).map(({ text }) => text.length);
  expect(lengths.slice(0, 8).every((length) => length <= 400)).toBe(true);
  expect(lengths.slice(8)).toEqual([3_000, 3_000]);
});

test('E15: what is relevant to the task stays longer: the old results that have least to do with it go first', () => {
  const subjects = [
    'login token expired session',
    'weather forecast rain',
    'invoice tax rounding',
    'banana bread recipe',
  ];
  const messages = steps(8, (at) => `${subjects[at % 4]} ${at} `.repeat(60));
  const task = {
    words: 'Fix the login: the session token expired',
    todos: 'Check tax rounding of an invoice',
    files: [],
  };
  const size = (draft: Draft) => resultsOf(draft.messages).reduce((sum, { text }) => sum + text.length, 0);
  const processor = makeProcessor({ use: 'dropLessRelevant', minChars: 300, keepShare: 0.25 });
  let draft = draftOf(messages);
  const wentIn: number[] = [];
  const before = size(draft);
  for (let excessChars = 1; excessChars < before; excessChars += 700) {
    draft = run(processor, draftOf(messages), { task, keepRecent: 0, excessChars }, null);
    for (const [at, { text }] of resultsOf(draft.messages).entries()) {
      if (text.startsWith('[Left out') && !wentIn.includes(at)) wentIn.push(at);
    }
  }
  // Neither weather (1, 5) nor bananas (3, 7) have to do with the task; of what does, some stays for ever.
  expect(wentIn.slice(0, 4).toSorted()).toEqual([1, 3, 5, 7]);
  expect(wentIn.length).toBeLessThan(8);
  expect(resultsOf(draft.messages)[4]?.text).toContain('login');
});

test('E4: dropLessRelevant takes no more than has to go, and nothing from the newest messages', () => {
  const messages = steps(10, () => 'z'.repeat(1_000));
  const processor = makeProcessor({ use: 'dropLessRelevant', minChars: 300, keepShare: 0 });
  const gone = (excessChars: number) =>
    resultsOf(run(processor, draftOf(messages), { ...NOTHING, excessChars }, null).messages).filter(({ text }) =>
      text.startsWith('[Left out'),
    ).length;
  expect([gone(0), gone(1), gone(2_500), gone(Number.POSITIVE_INFINITY)]).toEqual([0, 1, 3, 9]);
});

test('E4: the processors of the settings have defaults, and the default order is from cheap to lossy', () => {
  expect(DEFAULT_PROCESSORS.map(({ use }) => use)).toEqual([
    'truncateLongTools',
    'dropLessRelevant',
    'summarizeOlderThanN',
    'keepLastN',
  ]);
  expect(processorSchema.parse({ use: 'keepLastN' })).toEqual({ use: 'keepLastN', n: 20 });
  expect(processorSchema.safeParse({ use: 'keepLastN', maxChars: 1 }).success).toBe(false);
});

const NOTHING: About = {
  task: { words: '', todos: '', files: [] },
  keepRecent: 2,
  excessChars: Number.POSITIVE_INFINITY,
};

const steps = (count: number, text: (at: number) => string): readonly ModelMessage[] => [
  { role: 'user', text: 'Go' },
  ...Array.from({ length: count }, (_, at): readonly ModelMessage[] => [
    { role: 'assistant', parts: [{ type: 'tool_call', callId: `${at}`, name: 'ReadFile', rawArgs: `{"n":${at}}` }] },
    { role: 'tool', results: [{ callId: `${at}`, name: 'ReadFile', text: text(at), isError: false }] },
  ]).flat(),
];

const resultsOf = (messages: readonly ModelMessage[]): readonly ToolResultPart[] =>
  messages.flatMap((message) => (message.role === 'tool' ? message.results : []));
