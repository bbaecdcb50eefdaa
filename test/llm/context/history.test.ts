// The history as the fold of the journal.

import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { buildRequest } from '../../../llm/context/build-request.ts';
import { EMPTY_HISTORY, foldHistory, type History } from '../../../llm/context/history.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import { opId } from '../../../shared/ids.ts';
import { type AssistantPart, NO_USAGE, type StopReason } from '../../../shared/messages.ts';

const start = (seq: number, body = `question ${seq}`): JournalEvent => ({
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
const request = (seq: number, turn: number, facts?: string): JournalEvent => ({
  type: 'llm.req',
  op: opId(seq, turn, 0),
  model: 'p/m',
  reqHash: 'h',
  attempt: 1,
  ...(facts === undefined ? {} : { facts }),
  at: 0,
});
const answer = (
  seq: number,
  turn: number,
  callIds: readonly string[],
  stop: StopReason = 'tool_calls',
): JournalEvent => {
  const parts: AssistantPart[] = [
    { type: 'text', text: `step ${turn}` },
    ...callIds.map((callId) => ({ type: 'tool_call' as const, callId, name: 'LS', rawArgs: '{}' })),
  ];
  return {
    type: 'llm.res',
    op: opId(seq, turn, 0),
    parts: { inline: parts },
    calls: [],
    stop,
    usage: NO_USAGE,
    model: 'm',
    at: 0,
  };
};
const done = (seq: number, turn: number, k: number, callId: string): JournalEvent => ({
  type: 'tool.done',
  op: opId(seq, turn, k),
  callId,
  name: 'LS',
  kind: 'ok',
  text: { inline: `result of ${callId}` },
  description: '',
  affectedFiles: [],
  resultHash: '',
  durationMs: 0,
  at: 0,
});
const fold = (events: readonly JournalEvent[]): History => events.reduce(foldHistory, EMPTY_HISTORY);

test('O9: results stand in the order of the calls, whatever the order they came in', () => {
  const history = fold([
    start(1),
    request(1, 1),
    answer(1, 1, ['a', 'b', 'c']),
    done(1, 1, 3, 'c'),
    done(1, 1, 1, 'a'),
    done(1, 1, 2, 'b'),
  ]);
  const last = history.messages.at(-1);
  expect(last?.role === 'tool' && last.results.map((result) => result.callId)).toEqual(['a', 'b', 'c']);
});

test('E18 E4: a call left without a result gets one that says so before the next message begins', () => {
  const history = fold([start(1), request(1, 1), answer(1, 1, ['a', 'b']), done(1, 1, 2, 'b'), start(2)]);
  expect(history.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user']);
  const tool = history.messages[2];
  expect(tool?.role === 'tool' && tool.results.map((result) => [result.callId, result.isError])).toEqual([
    ['a', true],
    ['b', false],
  ]);
});

test('O2 E9: a call that was cut off is not part of what was said, and the model is told so', () => {
  const history = fold([start(1), request(1, 1), answer(1, 1, ['a'], 'max_tokens'), start(2)]);
  expect(history.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'user']);
  expect(history.messages[2]).toMatchObject({ text: expect.stringContaining('cut off at the output limit') });
  expect(JSON.stringify(history.messages)).not.toContain('tool_call');
});

test('O8: over any run of steps every prompt begins with the whole prompt before it', () => {
  const step = fc.record({
    calls: fc.integer({ min: 0, max: 3 }),
    facts: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      let history = fold([start(1)]);
      let previous = '';
      steps.forEach(({ calls, facts }, index) => {
        const turn = index + 1;
        history = foldHistory(history, request(1, turn, facts));
        const prompt = promptOf(history);
        expect(prompt.startsWith(previous)).toBe(true);
        previous = prompt.slice(0, -1);
        const ids = Array.from({ length: calls }, (_, k) => `${turn}.${k}`);
        history = foldHistory(history, answer(1, turn, ids, calls > 0 ? 'tool_calls' : 'end'));
        ids.forEach((id, k) => {
          history = foldHistory(history, done(1, turn, k + 1, id));
        });
        if (calls === 0) history = foldHistory(history, start(turn + 1));
      });
    }),
    { numRuns: 300, seed: 20261120 },
  );
});

const promptOf = (history: History): string =>
  JSON.stringify(
    buildRequest({
      sid: 's',
      mode: 'ask',
      root: '/p',
      instructions: '',
      model: 'm',
      tools: [],
      maxOutputTokens: 1,
      history,
    }).messages,
  );
