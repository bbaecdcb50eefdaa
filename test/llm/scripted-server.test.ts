// The scripted server tells a script the same story, whichever API it is asked through.

import { describe, expect, test } from '@jest/globals';
import type { ScriptedTurn } from '../../llm/scripted/script.ts';
import type { ModelMessage } from '../../shared/messages.ts';
import { answered, MODEL_APIS, never, requestOf, TEST_KEY, withServer } from '../support/model-apis.ts';

describe.each(MODEL_APIS)('$api', ({ api, open }) => {
  test('a turn knows the user’s message, the step within it and the results since the model last spoke', async () => {
    const turns: ScriptedTurn[] = [];
    const script = (turn: ScriptedTurn) => {
      turns.push(turn);
      return { toolCalls: [{ name: 'ReadTool', args: { path: 'a' } }] };
    };
    await withServer(script, async (server) => {
      const provider = open(server.url);
      const messages: ModelMessage[] = [{ role: 'user', text: 'First' }];
      for (let step = 0; step < 2; step += 1) {
        const { parts } = answered(await provider.stream(requestOf(messages), { signal: never() }));
        const result = { callId: `call_${step}_0`, name: 'ReadTool', text: `result ${step}`, isError: false };
        messages.push({ role: 'assistant', parts }, { role: 'tool', results: [result], facts: 'facts' });
      }
      await provider.stream(requestOf(messages), { signal: never() });
      const answer: ModelMessage = { role: 'assistant', parts: [{ type: 'text', text: 'Done' }] };
      await provider.stream(requestOf([...messages, answer, { role: 'user', text: 'Second' }]), { signal: never() });

      expect(turns.map((turn) => turn.stepOfMessage)).toEqual([0, 1, 2, 0]);
      expect(turns.map((turn) => turn.requestIndex)).toEqual([0, 1, 2, 3]);
      expect(turns.map((turn) => turn.lastToolResults.map((result) => result.text))).toEqual([
        [],
        ['result 0'],
        ['result 1'],
        [],
      ]);
      expect(turns[1]?.lastToolResults[0]).toMatchObject({ callId: 'call_0_0', name: 'ReadTool' });
      expect(turns.map((turn) => turn.userText.split('\n')[0])).toEqual(['First', 'First', 'First', 'Second']);
      expect(turns[3]?.messagesText).toMatch(/First[\s\S]*result 0[\s\S]*result 1[\s\S]*Done[\s\S]*Second/);
      expect(turns[0]).toMatchObject({ api, model: 'scripted-1', system: 'You are Odin.', toolNames: ['ReadTool'] });
    });
  });

  test('requests are recorded in the order of their arrival, before they are answered, without keys', async () => {
    let seenAtAnswer = 0;
    await withServer(
      (turn) => {
        seenAtAnswer = turn.requestIndex;
        return { text: 'ok' };
      },
      async (server) => {
        const provider = open(server.url);
        await provider.stream(requestOf([{ role: 'user', text: 'Hi' }]), { signal: never() });
        expect(seenAtAnswer).toBe(0);
        expect(server.requests).toMatchObject([{ index: 0, api, connection: 0, aborted: false }]);
        expect(JSON.stringify(server.requests[0]?.headers)).not.toContain(TEST_KEY);
        expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({ model: 'scripted-1' });
      },
    );
  });
});
