// The lesser model (SPEC O3) as the tools see it: one prompt, one text.

import { ulid } from '../shared/ids.ts';
import { textOf } from '../shared/messages.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { SmallModelPort } from '../shared/ports.ts';
import type { ModelPair } from './api.ts';

const MAX_OUTPUT_TOKENS = 4096;

/** Without models every question fails with what to do about it. */
export function openSmallModel(models: ModelPair | undefined): SmallModelPort {
  return {
    async complete({ system, user }, signal): Promise<Outcome<string>> {
      if (!models) return fail('failed', 'no_model', 'No model is set up; `odin doctor` says how to set one up.');
      const provider = await models.provider(models.smallModel);
      const model = models.smallModel.slice(models.smallModel.indexOf('/') + 1);
      const outcome = await provider.stream(
        {
          model,
          system,
          tools: [],
          messages: [{ role: 'user', text: user }],
          maxOutputTokens: MAX_OUTPUT_TOKENS,
          cacheKey: ulid(),
        },
        { signal },
      );
      if (!outcome.ok) return outcome;
      const text = textOf(outcome.value.parts);
      return text === '' ? fail('failed', 'empty_answer', 'The lesser model gave no answer.') : ok(text);
    },
  };
}
