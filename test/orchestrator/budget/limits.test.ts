// The limits of a message through whole turns: a scripted model with real usage, the journal, the machines.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { only, withWorld } from '../../support/odin-world.ts';

/** Reads one file after the other and never comes to an end. */
const readsOn = (turn: ScriptedTurn): ScriptedAnswer => ({
  text: `Step ${turn.stepOfMessage}.`,
  toolCalls: [
    { name: 'ReadFile', args: { file_path: `f${turn.stepOfMessage % 5}.txt`, offset: turn.stepOfMessage + 1 } },
  ],
});

const files = Object.fromEntries(
  Array.from({ length: 5 }, (_, i) => [`f${i}.txt`, `line of file ${i}\n`.repeat(200)] as const),
);

const tokensOf = (events: readonly StreamEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'Usage' ? [event.usage.input + event.usage.output] : []));

test('E7 O2: a budget in tokens stops the message, says how much was used and overshoots by less than one call', async () => {
  await withWorld({ script: readsOn, files }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, {
      mode: 'ask',
      body: 'read on',
      limits: { tokens: 60_000, maxSteps: 100 },
    });
    const done = only(events, 'AgentDone');
    expect(done.status).toBe('budget');
    expect(only(events, 'LimitReached').limit).toBe('tokens');
    expect(only(events, 'AgentError').code).toBe('budget_tokens');
    expect(done.answer).toMatch(
      /Stopped: the budget of 60,000 tokens for this message is spent: .*used.*--budget-tokens 60000/,
    );
    const calls = tokensOf(events);
    const spent = calls.reduce((sum, one) => sum + one, 0);
    expect(spent).toBeGreaterThanOrEqual(60_000);
    expect(spent).toBeLessThan(60_000 + Math.max(...calls));
    expect(world.logged).toEqual([]);
  });
});
