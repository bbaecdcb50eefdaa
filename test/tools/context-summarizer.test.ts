import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MODES } from '../../shared/modes.ts';
import { contextSummarizerTool } from '../../tools/context-summarizer.ts';
import { getModeTools } from '../../tools/registry.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
});
afterAll(() => bench.close());

test('O21: ContextSummarizer hands on its wish, with what to keep in particular, and says what will happen', async () => {
  const outcome = await bench.run(contextSummarizerTool, { focus: '  the parser  ' });
  expect(outcome).toMatchObject({ ok: true, value: { compact: 'the parser' } });
  expect(await bench.text(contextSummarizerTool, { focus: 'the parser' })).toMatch(
    /before your next step, with this in mind: the parser\./,
  );
  expect(await bench.run(contextSummarizerTool, {})).toMatchObject({ ok: true, value: { compact: '' } });
  expect(contextSummarizerTool.effect).toBe('read');
});

test('O10: every mode has ContextSummarizer, subagents too', () => {
  for (const mode of MODES) {
    for (const isSubAgent of [false, true]) expect(getModeTools(mode, isSubAgent)).toContain(contextSummarizerTool);
  }
});
