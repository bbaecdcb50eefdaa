// Fifty sessions at once under one budget, each a whole turn against a scripted model with real usage (issue 5: at most one call over).

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../../llm/scripted/script.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { only, withWorld } from '../../support/odin-world.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

const AGENTS = 50;

const usagesOf = (events: readonly StreamEvent[]) =>
  events.flatMap((event) => (event.type === 'Usage' ? [{ ...event.usage, costUsd: event.costUsd }] : []));

test.each([
  ['tokens', { tokens: 500_000 }],
  ['money', { usd: 0.5 }],
] as const)('E7: 50 agents at once spend at most one call more than their common budget in %s', async (_, caps) => {
  const random = randomFrom(printedSeed('fifty agents'));
  let inFlight = 0;
  let most = 0;
  /** Goes on for ever, with answers of any length, each as long as it may be at times. */
  const script = async (turn: ScriptedTurn): Promise<ScriptedAnswer> => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight -= 1;
    const longest = Number(turn.body['max_tokens']) * 4;
    const length = random(5) === 0 ? longest : random(Math.min(longest, 8_000));
    return {
      text: 'x'.repeat(Math.max(0, length - 200)),
      toolCalls: [{ name: 'LS', args: { path: '.', ignore: [`step-${turn.stepOfMessage}`] } }],
    };
  };
  const userConfig = { models: { 'anthropic/scripted': { price: [1, 5], maxOutput: 4_000 } } };
  await withWorld({ script, userConfig }, async (world) => {
    const odin = await world.open({ caps });
    const runs = await Promise.all(
      Array.from({ length: AGENTS }, (_, i) =>
        world.ask(odin, odin.newSession(), { mode: 'ask', body: `agent ${i}`, limits: { maxSteps: 1_000 } }),
      ),
    );
    const calls = runs.flatMap(usagesOf);
    expect(runs.map((events) => only(events, 'AgentDone').status)).toEqual(Array(AGENTS).fill('budget'));
    const cost = (call: (typeof calls)[number]) => ('tokens' in caps ? call.input + call.output : (call.costUsd ?? 0));
    const spent = calls.reduce((sum, call) => sum + cost(call), 0);
    const cap = 'tokens' in caps ? caps.tokens : caps.usd;
    expect(spent).toBeGreaterThanOrEqual(cap);
    expect(spent - cap).toBeLessThanOrEqual(Math.max(...calls.map(cost)));
    expect(most).toBeGreaterThan(1);
    expect(world.logged).toEqual([]);
  });
});
