// Keeps the calls of models within what the user set for a provider (SPEC E7 across processes): all processes at one Redis share its
// concurrency, its requests and its tokens a minute. What a person waits for goes first. Without limits nothing is wrapped.

import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from '../../shared/ids.ts';
import type { Usage } from '../../shared/messages.ts';
import { cancelled } from '../../shared/outcome.ts';
import type { CallPermit, ModelProvider } from '../../shared/ports.ts';
import type { ModelPair } from '../api.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

export interface ProviderLimits {
  readonly concurrency?: number | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

/** A process that died with a call under way holds its place for so long. */
const LEASE_MS = 30_000;
const LONGEST_WAIT_MS = 1_000;

export function limitModels(
  models: ModelPair,
  limits: Readonly<Record<string, ProviderLimits>>,
  { redis, isInteractive }: { readonly redis: OdinRedis; readonly isInteractive: boolean },
): ModelPair {
  if (Object.keys(limits).length === 0) return models;
  return {
    ...models,
    async provider(model) {
      const provider = await models.provider(model);
      const name = model.slice(0, model.indexOf('/'));
      const own = Object.hasOwn(limits, name) ? limits[name] : undefined;
      return own === undefined ? provider : limited(provider, own, { redis, name, isInteractive });
    },
  };
}

function limited(
  provider: ModelProvider,
  { concurrency = 0, requestsPerMinute = 0, tokensPerMinute = 0 }: ProviderLimits,
  { redis, name, isInteractive }: { readonly redis: OdinRedis; readonly name: string; readonly isInteractive: boolean },
): ModelProvider {
  const { calls, waiting, buckets } = keys.providerLimit(name);
  const places = [calls, waiting, buckets];
  const back = (id: string, more: number) => redis.opermitback(places, [id, tokensPerMinute, more]).catch(() => 0);

  /** `tokens` is a guess: the bucket is set right when the call is over. */
  const permit = async (tokens: number, signal: AbortSignal): Promise<CallPermit | null> => {
    const id = ulid();
    const args = [id, isInteractive ? 1 : 0, concurrency, requestsPerMinute, tokensPerMinute, tokens, LEASE_MS];
    const ask = () => redis.opermit(places, args);
    for (let ms = await ask(); ms > 0; ms = await ask()) {
      // Not all at the same moment, or the one nearest to Redis would always be first.
      const pause = Math.min(ms, LONGEST_WAIT_MS) * (1 + Math.random() / 2);
      await delay(pause, undefined, { signal }).catch(() => {});
      if (!signal.aborted) continue;
      await back(id, 0);
      return null;
    }
    const timer = setInterval(() => void ask().catch(() => {}), LEASE_MS / 3).unref();
    return {
      done(took) {
        clearInterval(timer);
        void back(id, (took ?? tokens) - tokens);
      },
    };
  };

  return {
    name: provider.name,
    listModels: (signal) => provider.listModels(signal),
    permit,
    async stream(request, options) {
      const guess = tokensPerMinute > 0 ? Math.ceil(JSON.stringify(request.messages).length / 4) : 0;
      const permitted = await permit(guess, options.signal);
      if (permitted === null) return cancelled();
      let used: Usage | undefined;
      try {
        const outcome = await provider.stream(request, {
          ...options,
          onUsage(usage) {
            used = usage;
            options.onUsage?.(usage);
          },
        });
        if (outcome.ok) used = outcome.value.usage;
        return outcome;
      } finally {
        permitted.done(used === undefined ? null : used.input - used.cacheRead + used.output);
      }
    },
  };
}
