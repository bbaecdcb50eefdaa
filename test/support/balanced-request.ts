// Whether a request to a model is one that a provider accepts: every call has exactly one result, behind it. In all three dialects.

import type { ScriptedApi } from '../../llm/scripted/script.ts';

type Part = Readonly<Record<string, unknown>>;

/** The ids of calls without exactly one later result, and of results without a call. Empty: it is valid. */
export function danglingIn(api: ScriptedApi, body: string): readonly string[] {
  const open = new Set<string>();
  const wrong: string[] = [];
  for (const { call, result } of idsOf(api, JSON.parse(body) as Part)) {
    if (call !== undefined) open.add(call);
    if (result !== undefined && !open.delete(result)) wrong.push(result);
  }
  return [...wrong, ...open];
}

interface Ids {
  readonly call?: string | undefined;
  readonly result?: string | undefined;
}

function idsOf(api: ScriptedApi, body: Part): readonly Ids[] {
  if (api === 'responses')
    return partsOf(body['input']).map((item) =>
      idIn(item, 'function_call', 'function_call_output', 'call_id', 'call_id'),
    );
  const messages = partsOf(body['messages']);
  if (api === 'anthropic') {
    return messages.flatMap(({ content }) =>
      partsOf(content).map((part) => idIn(part, 'tool_use', 'tool_result', 'id', 'tool_use_id')),
    );
  }
  return messages.flatMap((message) => [
    ...partsOf(message['tool_calls']).map(({ id }) => ({ call: String(id) })),
    ...(message['role'] === 'tool' ? [{ result: String(message['tool_call_id']) }] : []),
  ]);
}

const partsOf = (value: unknown): readonly Part[] => (Array.isArray(value) ? (value as Part[]) : []);

const idIn = (part: Part, call: string, result: string, callId: string, resultId: string): Ids => ({
  call: part['type'] === call ? String(part[callId]) : undefined,
  result: part['type'] === result ? String(part[resultId]) : undefined,
});
