import { describe, expect, test } from '@jest/globals';
import { chooseModel } from '../../../llm/choose-model.ts';
import type { Script } from '../../../llm/scripted/script.ts';
import { startScriptedServer } from '../../../llm/scripted/server.ts';
import type { ModelPair } from '../../../orchestrator/api.ts';
import { keys } from '../../../orchestrator/keys.ts';
import { limitModels, type ProviderLimits } from '../../../orchestrator/provider-limits/limit-models.ts';
import { connectRedis, type RedisHandle } from '../../../orchestrator/redis.ts';
import { withWorld } from '../../support/odin-world.ts';
import { startTestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

interface Setting {
  readonly redis: RedisHandle;
  readonly models: ModelPair;
  /** The models as another process has them: over a connection of its own. */
  process(
    limits: ProviderLimits,
    isInteractive?: boolean,
  ): Promise<(prompt: string, signal?: AbortSignal) => Promise<string>>;
}

/** `ask` resolves with the answer's text, or with the failure's code. */
async function withModels(script: Script, use: (setting: Setting) => Promise<void>): Promise<void> {
  const [{ home, handle, close }, server] = [await startTestRedis(), await startScriptedServer({ script })];
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url };
  const chosen = await chooseModel({ flagModel: 'anthropic/scripted', userConfig: {}, env });
  if (!chosen.ok) throw new Error(chosen.failure.message);
  const models: ModelPair = chosen.value;
  const handles: RedisHandle[] = [];
  try {
    await use({
      redis: handle,
      models,
      async process(limits, isInteractive = false) {
        const own = await connectRedis({ home, notice: () => {} });
        handles.push(own);
        const limited = limitModels(models, { anthropic: limits }, { redis: own.client, isInteractive });
        const provider = await limited.provider('anthropic/scripted');
        return async (prompt, signal = new AbortController().signal) => {
          const request = { model: 'scripted', system: '', tools: [], maxOutputTokens: 100, cacheKey: 'x' };
          const outcome = await provider.stream({ ...request, messages: [{ role: 'user', text: prompt }] }, { signal });
          if (!outcome.ok) return outcome.failure.code;
          return outcome.value.parts.map((part) => ('text' in part ? part.text : '')).join('');
        };
      },
    });
  } finally {
    await Promise.all(handles.map((one) => one.close()));
    await close();
    await server.close();
  }
}

interface Watched {
  readonly script: Script;
  /** Calls under way, and how many they were at most. */
  now(): number;
  most(): number;
  readonly order: string[];
  /** Answers one of the calls that `isHeld` names. */
  answer(): void;
}

/** A model that holds its answers, and says how many calls were under way and in which order they came. */
function watched(isHeld: (prompt: string) => boolean): Watched {
  const held: (() => void)[] = [];
  const order: string[] = [];
  let now = 0;
  let most = 0;
  return {
    order,
    now: () => now,
    most: () => most,
    answer: () => held.shift()?.(),
    script: async ({ userText }) => {
      order.push(userText);
      now += 1;
      most = Math.max(most, now);
      if (isHeld(userText)) await new Promise<void>((resolve) => held.push(resolve));
      now -= 1;
      return { text: userText };
    },
  };
}

/** Answers so many calls one by one, each when as many as may are under way and all others have been told to wait. */
async function answerAll(seen: Watched, redis: RedisHandle, calls: number, concurrency: number): Promise<void> {
  const { waiting } = keys.providerLimit('anthropic');
  const before = seen.order.length - seen.now();
  for (let left = calls; left > 0; left--) {
    await until(async () => {
      const waits = await redis.client.zcard(waiting);
      return seen.now() >= Math.min(concurrency, left) && seen.order.length - before + waits === calls;
    });
    seen.answer();
    await until(() => seen.order.length - seen.now() - before > calls - left);
  }
}

describe('issue 7: all processes share the limits of a provider', () => {
  test('no more calls are under way than its concurrency, whoever makes them, and all are made', async () => {
    const seen = watched(() => true);
    await withModels(seen.script, async ({ process, redis }) => {
      const both = [await process({ concurrency: 2 }, true), await process({ concurrency: 2 }, true)];
      const asked = Array.from({ length: 8 }, (_, i) => (both[i % 2] as (typeof both)[0])(`call ${i}`));
      await answerAll(seen, redis, 8, 2);
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 8 }, (_, i) => `call ${i}`));
      expect(seen.most()).toBe(2);
    });
  });

  test('a call that a person waits for goes before those of batches that waited longer', async () => {
    const seen = watched((prompt) => prompt === 'held');
    await withModels(seen.script, async ({ process, redis }) => {
      const [batch, person] = [await process({ concurrency: 1 }), await process({ concurrency: 1 }, true)];
      const { waiting } = keys.providerLimit('anthropic');
      const first = batch('held');
      await until(() => seen.order.length > 0);
      const rest = [batch('batch 1'), batch('batch 2')];
      const asked = person('person');
      await until(async () => (await redis.client.zcard(waiting)) > 0);
      seen.answer();
      await Promise.all([first, asked, ...rest]);
      expect(seen.order.slice(0, 2)).toEqual(['held', 'person']);
      expect(seen.most()).toBe(1);
    });
  });

  test('a call that is cancelled while it waits is not made, and gives its place back', async () => {
    const seen = watched((prompt) => prompt === 'held');
    await withModels(seen.script, async ({ process, redis }) => {
      const ask = await process({ concurrency: 1 }, true);
      const held = ask('held');
      await until(() => seen.order.length > 0);
      const stop = new AbortController();
      const waits = ask('waits', stop.signal);
      const { waiting, calls } = keys.providerLimit('anthropic');
      await until(async () => (await redis.client.zcard(waiting)) > 0);
      stop.abort();
      expect(await waits).toBe('cancelled');
      expect(await redis.client.zcard(waiting)).toBe(0);
      seen.answer();
      expect(await held).toBe('held');
      await until(async () => (await redis.client.zcard(calls)) === 0);
      expect(seen.order).toEqual(['held']);
    });
  });

  test('requests and tokens a minute are taken from buckets that fill with time', async () => {
    await withModels(watched(() => false).script, async ({ redis, process }) => {
      const { calls, waiting, buckets } = keys.providerLimit('anthropic');
      const permit = (id: string, rpm: number, tpm: number, tokens: number) =>
        redis.client.opermit([calls, waiting, buckets], [id, 0, 0, rpm, tpm, tokens, 30_000]);
      expect(await permit('a', 2, 0, 0)).toBe(0);
      // A call that goes on for long keeps its place by its signs of life alone.
      await redis.client.persist(calls);
      expect(await permit('a', 2, 0, 0)).toBe(0);
      expect(await redis.client.pttl(calls)).toBeGreaterThan(0);
      expect(await permit('b', 2, 0, 0)).toBe(0);
      const wait = await permit('c', 2, 0, 0);
      expect(wait).toBeGreaterThan(1_000);
      expect(wait).toBeLessThanOrEqual(30_000);
      await redis.client.del(calls, waiting, buckets);
      expect(await permit('d', 0, 1_000, 900)).toBe(0);
      expect(await permit('e', 0, 1_000, 900)).toBeGreaterThan(1_000);
      // It took fewer than it was given: the rest is there at once.
      await redis.client.opermitback([calls, waiting, buckets], ['d', 1_000, -900]);
      expect(await permit('e', 0, 1_000, 900)).toBe(0);
      await redis.client.del(calls, waiting, buckets);
      expect(await (await process({ tokensPerMinute: 100_000 }))('counted')).toBe('counted');
    });
  });

  test('limits in the user’s settings hold for a run, and without any the models are as they were', async () => {
    const seen = watched((prompt) => !prompt.startsWith('split'));
    const script: Script = async (turn) => {
      if (turn.userText.startsWith('split') && turn.stepOfMessage === 0) {
        const call = (n: number) => ({ name: 'AgentTool', args: { title: `agent ${n}`, prompt: 'Answer.' } });
        return { toolCalls: [1, 2, 3].map(call) };
      }
      return seen.script(turn);
    };
    const userConfig = { providerLimits: { anthropic: { concurrency: 1 } } };
    await withWorld({ script, userConfig }, async (world) => {
      const odin = await world.open();
      const redis = await connectRedis({ home: world.home, notice: () => {} });
      try {
        const ask = (body: string) => world.ask(odin, odin.newSession(), { mode: 'ask', body });
        const asked = [ask('question'), ask('question'), ask('question')];
        await answerAll(seen, redis, 3, 1);
        const runs = await Promise.all(asked);
        expect(runs.map((events) => events.at(-1)?.type)).toEqual(['AgentDone', 'AgentDone', 'AgentDone']);
        // Agents ask from threads of their own.
        const split = ask('split');
        await answerAll(seen, redis, 3, 1);
        expect((await split).filter(({ type }) => type === 'AgentEnded')).toHaveLength(3);
        expect(seen.most()).toBe(1);
      } finally {
        await redis.close();
      }
    });
    await withModels(script, async ({ models, redis }) => {
      expect(limitModels(models, {}, { redis: redis.client, isInteractive: true })).toBe(models);
    });
  });
});
