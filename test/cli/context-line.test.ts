import { expect, test } from '@jest/globals';
import { contextLine } from '../../cli/context-line.ts';

const compacted = {
  type: 'ContextCompacted',
  session: 's',
  id: '1-1',
  at: 0,
  seq: 1,
  why: 'window',
  processors: ['truncateLongTools', 'summarizeOlderThanN'],
  replaced: 31,
  window: 200_000,
  tokensBefore: 164_200,
  tokensAfter: 41_000,
} as const;

test('O21: one line says why the context was made smaller, how, and what is left', () => {
  expect(contextLine(compacted)).toBe('context 82 % full (164k of 200k tokens): summarised 31 older messages, now 41k');
  expect(contextLine({ ...compacted, processors: ['truncateLongTools'], replaced: 0 })).toContain(
    ': cut long results, now 41k',
  );
  expect(contextLine({ ...compacted, processors: ['keepLastN'], replaced: 1 })).toContain(
    ': left out 1 older message,',
  );
  expect(contextLine({ ...compacted, processors: ['summarizeOlderThanN', 'cutToFit'], replaced: 2 })).toContain(
    ': summarised 2 older messages and cut long texts, the newest too, now 41k',
  );
  expect(contextLine({ ...compacted, why: 'too_long' })).toMatch(
    /^the model refused the context as too long \(about 164k tokens\): /,
  );
  expect(contextLine({ ...compacted, why: 'asked', processors: [], replaced: 0, tokensAfter: 900 })).toBe(
    'smaller context, as asked (it was 164k tokens): nothing to cut, now 900',
  );
});
