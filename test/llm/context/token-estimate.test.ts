import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { countTokens as countReally } from 'gpt-tokenizer/encoding/o200k_base';
import { countTokens } from '../../../llm/context/token-count.ts';
import {
  estimateRequest,
  foldTokens,
  guessedMessages,
  keepCount,
  NO_TOKENS,
  type TokenMemory,
} from '../../../llm/context/token-estimate.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { type OpId, sha256 } from '../../../shared/ids.ts';
import type { ModelMessage, ModelRequest, Usage } from '../../../shared/messages.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8').slice(0, 60_000);

const listing = () =>
  Array.from(
    { length: 800 },
    (_, i) =>
      `-rw-r--r-- 1 root root ${i * 137} Nov ${(i % 28) + 1} 10:0${i % 10} file-${sha256(String(i)).slice(0, 8)}.ts`,
  ).join('\n');

const TEXTS: Readonly<Record<string, () => string>> = {
  TypeScript: () => read('machines/agent/machine.ts'),
  Markdown: () => read('docs/benchmarks.md'),
  'a lock file': () => read('package-lock.json'),
  Japanese: () => read('node_modules/@biomejs/biome/README.ja.md'),
  Chinese: () => read('node_modules/@biomejs/biome/README.zh-CN.md'),
  Russian: () => read('node_modules/zod/v4/locales/ru.js'),
  'a listing': listing,
  'hashes and paths': () => Array.from({ length: 400 }, (_, i) => `src/${sha256(String(i))}/a.js`).join('\n'),
};

test.each(Object.keys(TEXTS))('E7: the count of %s is within 15 %% of what the tokenizer says', (name) => {
  const text = TEXTS[name]?.() ?? '';
  const ratio = countTokens(text) / countReally(text);
  expect(ratio).toBeGreaterThan(0.85);
  expect(ratio).toBeLessThan(1.15);
});

const request = (messages: readonly ModelMessage[], model = 'some-model'): ModelRequest => ({
  model,
  system: 'You are Odin.',
  tools: [{ name: 'ReadFile', description: 'Reads a file.', inputSchema: { type: 'object' } }],
  messages,
  maxOutputTokens: 100,
  cacheKey: 'k',
});

const user = (text: string): ModelMessage => ({ role: 'user', text });
const answer = (text: string): ModelMessage => ({ role: 'assistant', parts: [{ type: 'text', text }] });

/** One step as the journal has it: asked with the estimate, answered with what the provider counted. */
function step(
  memory: TokenMemory,
  op: OpId,
  messages: readonly ModelMessage[],
  counted: (estimate: number) => Partial<Usage>,
  model = 'some-model',
): { readonly memory: TokenMemory; readonly estimate: number } {
  const { tokens } = estimateRequest(memory, request(messages, model), null);
  const usage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...counted(tokens) };
  const events: JournalEvent[] = [
    { type: 'llm.req', op, model: `any/${model}`, reqHash: '', attempt: 1, estimate: tokens, at: 0 },
    { type: 'llm.res', op, parts: { inline: [] }, calls: [], stop: 'end', usage, model, at: 0 },
  ];
  const after = events.reduce((now, event) => foldTokens(now, event, [...messages, answer('Said.')]), memory);
  return { memory: after, estimate: tokens };
}

test('E7: after an answer the next estimate is what the provider counted plus a guess of what is new alone', () => {
  const messages = [user('x '.repeat(5_000))];
  const { memory } = step(NO_TOKENS, '1.1.0', messages, () => ({ input: 7_000, output: 30 }));
  const next = estimateRequest(memory, request([...messages, answer('Said.'), user('And then?')]), null);
  expect(next.exactBase).toBe(7_030);
  expect(next.tokens).toBeGreaterThan(7_030);
  expect(next.tokens).toBeLessThan(7_060);
  const withFacts = estimateRequest(memory, request([...messages, answer('Said.'), user('And then?')]), 'today: now');
  expect(withFacts.tokens).toBeGreaterThan(next.tokens);
});

test('E7: estimates near what a model really counts, whatever its tokenizer, and a fold of the same events learns the same', () => {
  const learn = () => {
    let memory = NO_TOKENS;
    const messages: ModelMessage[] = [];
    const errors: number[] = [];
    for (let turn = 1; turn <= 12; turn++) {
      messages.push(user(read('machines/agent/machine.ts').slice(turn * 500, turn * 500 + 4_000)));
      const real = Math.round(
        1.6 * messages.reduce((sum, one) => sum + ('text' in one ? countReally(one.text) : 0), 300),
      );
      const done = step(memory, `1.${turn}.0`, messages, () => ({ input: real, output: 5 }));
      errors.push(Math.abs(done.estimate - real) / real);
      memory = done.memory;
      messages.push(answer('Said.'));
    }
    return { memory, errors };
  };
  const { memory, errors } = learn();
  expect(errors.at(-1)).toBeLessThan(0.03);
  expect(errors.at(-1)).toBeLessThan(errors[0] ?? 0);
  expect(learn().memory).toEqual(memory);
});

test('E7: a server that counts nothing teaches nothing and is no base', () => {
  const messages = [user('word '.repeat(2_000))];
  const { memory, estimate } = step(NO_TOKENS, '1.1.0', messages, () => ({}));
  expect(memory.factors).toEqual({});
  const req = {
    type: 'llm.req',
    op: '1.2.0',
    model: 'any/some-model',
    reqHash: '',
    attempt: 1,
    estimate,
    at: 0,
  } as const;
  const usage: Usage = { input: 2 * estimate, output: 9, cacheRead: 0, cacheWrite: 0 };
  const res = {
    type: 'llm.res',
    op: '1.2.0',
    parts: { inline: [] },
    calls: [],
    stop: 'end',
    usage,
    model: 'm',
    at: 0,
  } as const;
  const guessed = [req, { ...res, estimated: true } as const].reduce(
    (now, event) => foldTokens(now, event, messages),
    memory,
  );
  expect(guessed).toMatchObject({ base: null, factors: {} });
  const again = estimateRequest(memory, request(messages), null);
  expect(again).toEqual({ tokens: estimate, exactBase: 0 });
});

test('E7: what was counted does not hold for another model, another mode or a compacted conversation', () => {
  const messages = [user('word '.repeat(2_000))];
  const { memory } = step(NO_TOKENS, '1.1.0', messages, () => ({ input: 2_500, output: 10 }));
  const more = [...messages, answer('Said.'), user('go on')];
  expect(estimateRequest(memory, request(more), null).exactBase).toBe(2_510);
  expect(estimateRequest(memory, request(more, 'other-model'), null).exactBase).toBe(0);
  const other = { ...memory, mode: 'edit' as const };
  expect(estimateRequest(other, request(more), null).exactBase).toBe(0);
  const compacted = foldTokens(
    memory,
    {
      type: 'compact.done',
      op: '1.2.0',
      why: 'window',
      messages: { inline: [user('short')] },
      processors: [],
      tokensBefore: 1,
      tokensAfter: 1,
      at: 0,
    },
    [user('short')],
  );
  expect(estimateRequest(compacted, request([user('short')]), null).exactBase).toBe(0);
});

test('E7: one answer that is far off, such as one whose thoughts were dropped, moves the factor little', () => {
  const messages = [user('word '.repeat(4_000))];
  let { memory } = step(NO_TOKENS, '1.1.0', messages, (estimate) => ({ input: estimate, output: 20_000 }));
  const before = memory.factors['some-model']?.value ?? 0;
  ({ memory } = step(memory, '1.2.0', [...messages, answer('Said.'), user('word '.repeat(3_000))], () => ({
    input: 8_000,
    output: 5,
  })));
  expect(memory.factors['some-model']?.value).toBe(before);
});

test('E7: the newer Claude models begin with the factor that was measured for them', () => {
  const of = (model: string) => estimateRequest(NO_TOKENS, request([user('word '.repeat(1_000))], model), null).tokens;
  expect(of('claude-opus-5-5') / of('gpt-6-sol')).toBeCloseTo(1.53, 2);
  expect(of('claude-opus-4-7') / of('gpt-6-sol')).toBeCloseTo(1.53, 2);
  expect(of('claude-haiku-4-5-20251001') / of('gpt-6-sol')).toBeCloseTo(1.18, 2);
});

test('E7: a count of the tokenizer takes the place of the guess', () => {
  const message = user('word '.repeat(1_000));
  const asked = request([message]);
  const [guessed] = guessedMessages(NO_TOKENS, asked);
  expect(guessed?.text).toBe('word '.repeat(1_000));
  const before = estimateRequest(NO_TOKENS, asked, null).tokens;
  keepCount(message, 2_000);
  expect(estimateRequest(NO_TOKENS, asked, null).tokens).toBeGreaterThan(before);
  expect(guessedMessages(NO_TOKENS, asked)).toEqual([]);
});
