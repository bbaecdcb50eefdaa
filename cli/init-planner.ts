// The planner of `odin init`: it needs no model, since what it does is known: call InitTool once, then say what came of it. So init is a
// message of a session like any other: journaled, resumed after a crash, taken back by `odin undo`. The lesser model is the real one.

import type { ModelPair } from '../orchestrator/api.ts';
import type { JsonObject } from '../shared/json.ts';
import type { AssistantPart, ModelRequest, Usage } from '../shared/messages.ts';
import { fail, ok } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';

/** As a message names its model. */
export const INIT_MODEL = 'odin/init';
const NO_MODEL = 'odin/none';
/** Nothing was asked; an answer without any count would be estimated as if a model had been. */
const HARDLY_ANY: Usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };

/** `found`: the models of the settings, for the words and for messages that wait; null when there are none. */
export function initModels(found: ModelPair | null, args: JsonObject): ModelPair {
  const planner = providerOf(async (request, ready) => {
    await ready;
    const parts = nextStep(request, args);
    const stop = parts[0]?.type === 'tool_call' ? 'tool_calls' : 'end';
    return ok({ parts, stop, usage: HARDLY_ANY, model: request.model });
  });
  const nobody = providerOf(async () => fail('failed', 'no_model', 'no model is set up.'));
  return {
    model: found?.model ?? INIT_MODEL,
    smallModel: found?.smallModel ?? NO_MODEL,
    async provider(model) {
      if (model === INIT_MODEL) return planner;
      return found === null ? nobody : await found.provider(model);
    },
  };
}

function providerOf(
  answer: (request: ModelRequest, ready: Promise<void> | undefined) => ReturnType<ModelProvider['stream']>,
): ModelProvider {
  return {
    name: 'odin',
    stream: (request, { ready }) => answer(request, ready),
    listModels: () => Promise.resolve(ok([])),
  };
}

function nextStep({ messages }: ModelRequest, args: JsonObject): readonly AssistantPart[] {
  const last = messages.at(-1);
  if (last?.role !== 'tool')
    return [{ type: 'tool_call', callId: 'init', name: 'InitTool', rawArgs: JSON.stringify(args) }];
  // Its first paragraph; the file's text comes after it.
  const said = last.results.map(({ text }) => text.split('\n\n', 1)[0] ?? '').join('\n');
  return [{ type: 'text', text: said }];
}
