// The interface in a second terminal of a project: the message runs in a process of its own, a real `odin run`, and all that the person does
// here reaches it there.

import { expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { until } from '../../support/until.ts';
import { startCli } from '../run-cli.ts';
import { ALT_UP, ENTER, ESC, SHIFT_TAB, withApp } from './with-app.ts';

const CTRL_S = '\u0013';

test('O6, O24, G6, E11: attached to another process the interface streams, queues, edits and says what waits, answers, hears of answers given elsewhere, interrupts, and takes over when that process is gone', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked = { count: 0 };
  const script: Script = async ({ messagesText, stepOfMessage }) => {
    const later = ['and here', 'second', 'first of all'].find((text) => messagesText.includes(text));
    if (later !== undefined) return { text: `Answer to <${later}>` };
    asked.count += 1;
    await gates[stepOfMessage]?.promise;
    return {
      text: `Step ${stepOfMessage}.`,
      toolCalls: [{ name: 'LS', args: { path: `/proc/${stepOfMessage + 1}` } }],
    };
  };
  let owner: ReturnType<typeof startCli> | null = null;
  await withApp(
    script,
    async ({ screen, world }) => {
      await screen.until(/ask ❯ work\n[^]*thinking · \d+ s · Esc interrupts/);
      expect((await world.open({ models: false })).owner).toBe(false);
      screen.type(`first of all${ENTER}`);
      await screen.until(/↳ ask first of all/);
      screen.type(SHIFT_TAB);
      screen.type(`secnd${ENTER}`);
      await screen.until(/↳ plan secnd/);
      screen.type(ALT_UP);
      await screen.until(/\n secnd\n/);
      screen.type('\u0015');
      screen.type(`second${ENTER}`);
      await screen.until(/↳ ask first of all\n ↳ plan second\n/);
      screen.type(`look at 1 too${CTRL_S}`);
      await screen.until(/↳ told with the next step: look at 1 too/);
      screen.type(ALT_UP);
      await screen.until(/✗ Message 5 is on its way to the message that runs/);

      // The owner takes requests in their order, so that what the answer lets go on has the word in it.
      gates[0]?.resolve();
      await screen.until(/Step 0\.\n[^]*outside the project: \/proc\/1[^]*❯ y {2}yes, this once/);
      screen.type('y');
      await screen.until(/❯ look at 1 too\n/);
      gates[1]?.resolve();
      await screen.until(/Step 1\.\n[^]*outside the project: \/proc\/2[^]*❯ y {2}yes, this once/);
      const client = await world.open({ models: false });
      const [question] = await client.questions();
      await client.answer(question?.id ?? '', 'deny', { by: 'odin answer' });
      await screen.until(/odin answer said no/);
      await until(() => asked.count === 3);
      expect(world.server.requests.at(-1)?.body).toContain('The user says, while you work: look at 1 too');

      screen.type(ESC);
      await screen.until(/cancelled · 3 steps[^]*ask ❯ first of all\n\n {2}Answer to <first of all>/);
      await screen.until(/plan ❯ second\n\n {2}Answer to <second>[^]*completed/);
      gates[2]?.resolve();
      const { code, stderr } = (await owner?.ended) ?? {};
      expect({ code, stderr }).toMatchObject({ code: 130 });
      screen.type(ESC);
      screen.type(`and here${ENTER}`);
      await screen.until(/Answer to <and here>[^]*completed/);
    },
    {
      session: 'last',
      rows: 70,
      async before(world) {
        const flags = ['--model', 'anthropic/scripted', '--small-model', 'anthropic/small', '--permission', 'ask'];
        const env = { ODIN_HOME: world.home, ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: world.server.url };
        owner = startCli(['run', 'work', ...flags], { cwd: world.project, env });
        await until(() => asked.count === 1);
      },
    },
  );
});
