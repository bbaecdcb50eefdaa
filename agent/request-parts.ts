// What every request of a message has in common, whatever its history: the stable beginning of the prompt.

import type { RequestParts } from '../llm/context/build-request.ts';
import type { EventOf } from '../shared/events.ts';
import type { ToolSpec } from '../shared/messages.ts';
import type { LoopDeps } from './loop-deps.ts';

/** `model` is `provider/name`. */
export const requestParts = (
  deps: LoopDeps,
  start: EventOf<'msg.start'>,
  specs: readonly ToolSpec[],
  model: string,
): Omit<RequestParts, 'history'> => ({
  sid: deps.sid,
  mode: start.mode,
  root: deps.root,
  instructions: deps.memory.state.customInstructions,
  ...(deps.role === undefined ? {} : { role: deps.role }),
  model: model.slice(model.indexOf('/') + 1),
  tools: specs,
  maxOutputTokens: deps.maxOutputTokens(model),
});
