// The lesser model (SPEC O3) as the tools see it: one prompt, one text. Every call has room in the budget before it is made and is in the
// accounts after, with what it was for.

import { countTokens } from '../llm/context/token-count.ts';
import type { AuxPurpose } from '../shared/events.ts';
import { ulid } from '../shared/ids.ts';
import { type ModelAnswer, textOf, type Usage } from '../shared/messages.ts';
import { cancelled, fail, type Outcome, ok } from '../shared/outcome.ts';
import type { ModelProvider, SmallModelPort, SmallPrompt } from '../shared/ports.ts';
import type { ModelPair } from './api.ts';
import type { Amount } from './budget/ledger.ts';
import type { MessageBudget } from './budget/message-budget.ts';

const MAX_OUTPUT_TOKENS = 4096;
const NO_COST: Amount = { usd: 0, tokens: 0 };
/** Between o200k and what the thriftiest tokenizer makes of a text. */
const TOKENS_FOR_ONE = 1.3;

export interface SmallModelDeps {
  /** `provider/name`. */
  readonly model: string;
  provider(model: string): Promise<ModelProvider>;
  readonly budget: Pick<MessageBudget, 'room'>;
  /** What a call has cost. */
  costOf(usage: Usage): Amount;
  /** What a call has used; `estimated` when the provider did not count all of it. */
  used(purpose: AuxPurpose, usage: Usage, estimated: boolean): void;
}

/** The lesser model of one message. */
export function createSmallModel({ model, provider, budget, costOf, used }: SmallModelDeps): SmallModelPort {
  return {
    async complete(prompt, signal): Promise<Outcome<string>> {
      const inputTokens = tokensOf(prompt.system) + tokensOf(prompt.user);
      const room = await budget.room({ model, inputTokens, maxOutputTokens: MAX_OUTPUT_TOKENS }, signal);
      if (room === null) return cancelled();
      if ('limit' in room) return fail('failed', `budget_${room.limit}`, `Not asked: ${room.message}`);
      let counted: Usage | null = null;
      try {
        const outcome = await ask(await provider(model), model, prompt, room.maxOutputTokens, signal, (usage) => {
          counted = usage;
        });
        const usage = outcome.ok ? usageOf(outcome.value, inputTokens) : counted;
        if (usage !== null) used(prompt.purpose, usage, !outcome.ok || outcome.value.usage !== usage);
        if (usage !== null) room.settle(costOf(usage));
        return outcome.ok ? textIn(outcome.value) : outcome;
      } finally {
        room.settle(NO_COST);
      }
    },
  };
}

/** Outside of any message: nothing to keep within, and no journal to put it in. Without models every question fails with what to do about it. */
export function openSmallModel(models: ModelPair | undefined): SmallModelPort {
  return {
    async complete(prompt, signal): Promise<Outcome<string>> {
      if (!models) return fail('failed', 'no_model', 'No model is set up; `odin doctor` says how to set one up.');
      const outcome = await ask(
        await models.provider(models.smallModel),
        models.smallModel,
        prompt,
        MAX_OUTPUT_TOKENS,
        signal,
      );
      return outcome.ok ? textIn(outcome.value) : outcome;
    },
  };
}

function ask(
  provider: ModelProvider,
  model: string,
  { system, user }: SmallPrompt,
  maxOutputTokens: number,
  signal: AbortSignal,
  onUsage?: (usage: Usage) => void,
): Promise<Outcome<ModelAnswer>> {
  const request = {
    model: model.slice(model.indexOf('/') + 1),
    system,
    tools: [],
    messages: [{ role: 'user', text: user } as const],
    maxOutputTokens,
    cacheKey: ulid(),
  };
  return provider.stream(request, { signal, ...(onUsage === undefined ? {} : { onUsage }) });
}

function textIn({ parts }: ModelAnswer): Outcome<string> {
  const text = textOf(parts);
  return text === '' ? fail('failed', 'empty_answer', 'The lesser model gave no answer.') : ok(text);
}

/** As the provider counted it, or an estimate where it counts nothing. */
function usageOf({ usage, parts }: ModelAnswer, inputTokens: number): Usage {
  if (usage.input > 0) return usage;
  return { input: inputTokens, output: tokensOf(textOf(parts)), cacheRead: 0, cacheWrite: 0 };
}

const tokensOf = (text: string): number => Math.ceil(TOKENS_FOR_ONE * countTokens(text));
