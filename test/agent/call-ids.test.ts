// Ids of calls, made unlike each other where a server gave one twice.

import { expect, test } from '@jest/globals';
import { withOwnCallIds } from '../../agent/call-ids.ts';
import { type AssistantPart, type ModelMessage, toolCallsOf } from '../../shared/messages.ts';

const call = (callId: string): AssistantPart => ({ type: 'tool_call', callId, name: 'LS', rawArgs: '{}' });
const idsOf = (parts: readonly AssistantPart[]) => toolCallsOf(parts).map(({ callId }) => callId);

test('E4: ids that are the conversation’s only ones stay as they came', () => {
  const parts: AssistantPart[] = [{ type: 'text', text: 'I look.' }, call('a'), call('b')];
  expect(withOwnCallIds(parts, '1.2.0', [{ role: 'assistant', parts: [call('c')] }])).toBe(parts);
});

test('E4: an id that is there already, in the same answer or an earlier one, gets an end of its own', () => {
  const first = withOwnCallIds([call('a'), call('a'), call('b')], '1.1.0', []);
  expect(idsOf(first)).toEqual(['a', 'a_1_1_0_1', 'b']);
  const history: ModelMessage[] = [{ role: 'assistant', parts: first }];
  const second = withOwnCallIds([call('a'), call('a_1_1_0_1'), call('a')], '1.2.0', history);
  expect(idsOf(second)).toEqual(['a_1_2_0_1', 'a_1_1_0_1_1_2_0_1', 'a_1_2_0_2']);
  expect(new Set([...idsOf(first), ...idsOf(second)]).size).toBe(6);
});
