// After a model has declined a message: the session goes on, also with a model that declines whatever follows what it has declined.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

/** Declines as long as the word stands anywhere in what it is sent; before that it writes a file for the message that has it. */
const script = ({ body, stepOfMessage, userText }: ScriptedTurn): ScriptedAnswer => {
  if (JSON.stringify(body).includes('FORBIDDEN')) {
    if (stepOfMessage > 0) return { text: 'I cannot.', fault: 'refusal' };
    return { toolCalls: [{ name: 'WriteFile', args: { file_path: 'made.txt', content: 'made' } }] };
  }
  return { text: `answer to ${userText.split('\n\n<')[0]?.split('\n').at(-1)}` };
};

const providers = (world: World) => ({
  chat: { kind: 'openai-chat', baseURL: `${world.server.url}/v1` } as const,
  responses: { kind: 'openai', baseURL: `${world.server.url}/v1` } as const,
});

test.each(['anthropic/scripted', 'chat/scripted', 'responses/scripted'])(
  'E9: %s declines a message, and the next one is answered: the declined one is taken out and told of',
  async (model) => {
    await withWorld({ script }, async (world) => {
      const options = { providers: providers(world), permission: { mode: 'accept-edits', timeoutMs: null } } as const;
      const odin = await world.open(options);
      const sid = odin.newSession();
      const ask = { mode: 'edit', model } as const;
      expect(only(await world.ask(odin, sid, { ...ask, body: 'first' }), 'AgentDone').status).toBe('completed');
      const declined = await world.ask(odin, sid, { ...ask, body: 'do the FORBIDDEN thing' });
      expect(only(declined, 'AgentError').code).toBe('refusal');
      const next = await world.ask(odin, sid, { ...ask, body: 'third' });
      expect(only(next, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'answer to third' });
      const sent = world.server.requests.at(-1)?.body ?? '';
      expect(sent).toContain('answer to first');
      expect(sent).toContain('[The model declined an earlier message; it was taken out.]');
      expect(sent).toMatch(/What it had changed in these files stays: [^"]*made\.txt/);
      expect(sent).not.toMatch(/I cannot|WriteFile[^]*"content\\*":\\*"made/);

      const { messages } = await odin.state(sid);
      expect(messages.map(({ outside }) => outside)).toEqual([undefined, 'declined', undefined]);
      expect(messages[1]?.body).toBe('do the FORBIDDEN thing');
      expect(await odin.replay(sid)).toMatchObject({ difference: null });

      // Another process folds the same.
      await odin.close();
      const again = await world.open(options);
      const last = await world.ask(again, sid, { ...ask, body: 'fourth' });
      expect(only(last, 'AgentDone').answer).toBe('answer to fourth');
      expect(world.server.requests.at(-1)?.body).toContain('it was taken out');
    });
  },
);

test('E9, E4: declined twice in a row, the note stands once, and no two messages of the user follow one another', async () => {
  await withWorld({ script }, async (world) => {
    const odin = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const sid = odin.newSession();
    for (const body of ['FORBIDDEN one', 'FORBIDDEN two']) {
      expect(only(await world.ask(odin, sid, { mode: 'edit', body }), 'AgentError').code).toBe('refusal');
    }
    const done = only(await world.ask(odin, sid, { mode: 'edit', body: 'go on' }), 'AgentDone');
    expect(done.answer).toBe('answer to go on');
    const { messages } = JSON.parse(world.server.requests.at(-1)?.body ?? '') as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(['user']);
    expect(JSON.stringify(messages).match(/it was taken out/g)).toHaveLength(1);
  });
});
