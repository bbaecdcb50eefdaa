// Ids of calls are the provider's, and some servers number the calls of each answer anew, or give two the same. A result is told by
// its call's id (history.ts), and strict APIs refuse a conversation that has one twice: the second gets an id of its own.

import type { OpId } from '../shared/ids.ts';
import { type AssistantPart, type ModelMessage, toolCallsOf } from '../shared/messages.ts';

/** The parts of an answer with every call's id unlike any other in the conversation. */
export function withOwnCallIds(
  parts: readonly AssistantPart[],
  op: OpId,
  messages: readonly ModelMessage[],
): readonly AssistantPart[] {
  const calls = toolCallsOf(parts);
  if (calls.length === 0) return parts;
  const fresh = new Set(calls.map((call) => call.callId));
  const taken = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.parts) if (part.type === 'tool_call' && fresh.has(part.callId)) taken.add(part.callId);
  }
  if (taken.size === 0 && fresh.size === calls.length) return parts;
  return parts.map((part) => {
    if (part.type !== 'tool_call') return part;
    let callId = part.callId;
    for (let again = 1; taken.has(callId); again += 1) callId = `${part.callId}_${op.replaceAll('.', '_')}_${again}`;
    taken.add(callId);
    return callId === part.callId ? part : { ...part, callId };
  });
}
