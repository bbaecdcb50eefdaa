// Random conversations as the fold of the journal makes them, for property tests.

import fc from 'fast-check';
import type { ModelMessage, ToolCallPart, ToolResultPart } from '../../shared/messages.ts';
import { toolCallsOf } from '../../shared/messages.ts';

const TOOLS = ['ReadFile', 'Grep', 'ExecuteCommand', 'WriteFile'] as const;

const call = fc.record({
  name: fc.constantFrom(...TOOLS),
  args: fc.oneof(
    fc.record({ path: fc.string({ maxLength: 20 }), content: words(0, 900) }).map((args) => JSON.stringify(args)),
    fc.constantFrom('', '{"path": "half', '[1,2]'),
  ),
  result: words(1, 1500),
  isError: fc.boolean(),
});

const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ type: fc.constant('user' as const), text: words(1, 60) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('said' as const), text: words(0, 60) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('acted' as const),
      text: words(0, 20),
      thought: fc.boolean(),
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
      facts: fc.option(words(1, 10), { nil: undefined }),
    }),
  },
);

/** Begins with the user; every call has its result; ends between two steps. */
export const conversation: fc.Arbitrary<readonly ModelMessage[]> = fc
  .array(step, { minLength: 1, maxLength: 30 })
  .map((steps) => [
    { role: 'user', text: 'The task.' } as const,
    ...steps.flatMap((one, at): readonly ModelMessage[] => {
      if (one.type === 'user') return [{ role: 'user', text: one.text }];
      if (one.type === 'said') return [{ role: 'assistant', parts: [{ type: 'text', text: one.text }] }];
      const calls = one.calls.map(
        ({ name, args }, k): ToolCallPart => ({ type: 'tool_call', callId: `c${at}.${k}`, name, rawArgs: args }),
      );
      const results = one.calls.map(
        ({ name, result, isError }, k): ToolResultPart => ({ callId: `c${at}.${k}`, name, text: result, isError }),
      );
      const thought = one.thought ? [{ type: 'thinking' as const, text: 'Hm.', opaque: { seal: 's' } }] : [];
      return [
        { role: 'assistant', parts: [...thought, { type: 'text', text: one.text }, ...calls] },
        { role: 'tool', results, ...(one.facts === undefined ? {} : { facts: one.facts }) },
      ];
    }),
  ]);

/** What is wrong with a conversation that a provider would refuse; empty when nothing is. */
export function faultsOf(messages: readonly ModelMessage[]): readonly string[] {
  const faults: string[] = [];
  if (messages[0]?.role !== 'user') faults.push('it does not begin with the user');
  for (const [at, message] of messages.entries()) {
    if (message.role === 'user' && message.text.trim() === '') faults.push(`${at}: an empty question`);
    if (message.role === 'assistant') {
      const calls = toolCallsOf(message.parts).map(({ callId }) => callId);
      const next = messages[at + 1];
      const answered = next?.role === 'tool' ? next.results.map(({ callId }) => callId) : [];
      if (calls.join() !== answered.join()) faults.push(`${at}: calls ${calls.join()} have results ${answered.join()}`);
      if (message.parts.length === 0) faults.push(`${at}: an answer of nothing`);
    }
    if (message.role === 'tool') {
      const before = messages[at - 1];
      if (before?.role !== 'assistant' || toolCallsOf(before.parts).length === 0) faults.push(`${at}: results alone`);
      if (message.results.some(({ text }) => text.trim() === '')) faults.push(`${at}: an empty result`);
    }
  }
  return faults;
}

function words(min: number, max: number): fc.Arbitrary<string> {
  const word = fc.constantFrom('parse', 'config', 'login', 'error', 'the', 'größe', '😀', 'x=1;\n', '"quoted"');
  return fc
    .tuple(fc.array(word, { minLength: 1, maxLength: 6 }), fc.integer({ min, max }))
    .map(([some, length]) =>
      Array.from({ length: Math.ceil(length / 4) }, (_, at) => some[at % some.length]).join(' '),
    );
}
