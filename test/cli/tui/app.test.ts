// The terminal interface on an emulated screen, with the real orchestrator, Redis and a scripted model behind it.

import { expect, test } from '@jest/globals';
import { type App, type AppOptions, startApp } from '../../../cli/tui/app.ts';
import type { Script } from '../../../llm/scripted/script.ts';
import { type World, withWorld } from '../../support/odin-world.ts';
import { createScreen, type Screen } from './screen.ts';

interface Desk {
  readonly world: World;
  readonly screen: Screen;
  readonly app: App;
}

/** An interface on a screen, left at the end. */
async function withApp(
  script: Script,
  use: (desk: Desk) => Promise<void>,
  more: Partial<AppOptions> & { readonly columns?: number; readonly rows?: number } = {},
): Promise<void> {
  await withWorld({ script, files: { 'a.txt': 'one\ntwo\nthree\n' } }, async (world) => {
    const screen = createScreen(more.columns, more.rows);
    let app: App | null = null;
    const odin = world.open({
      permission: { mode: 'ask', timeoutMs: null },
      onQuestion: (seen) => app?.onQuestion(seen),
    });
    app = startApp({
      terminal: screen,
      odin,
      session: null,
      mode: 'ask',
      limits: { maxSteps: 9 },
      models: { model: 'anthropic/scripted', smallModel: 'anthropic/small' },
      cwd: '/project',
      env: { NO_COLOR: '1' },
      version: '0.0.0',
      sandbox: Promise.resolve('sandbox'),
      ...more,
    });
    await screen.until(/\/help shows/);
    await use({ world, screen, app });
    screen.type('\u0003');
    screen.type('\u0003');
    screen.type('\u0003');
    expect(await app.done).toBe(0);
  });
}

const ENTER = '\r';


test('G1: an answer streams in as Markdown, a call is one line, and the line below says mode, model, window and money', async () => {
  const script: Script = ({ stepOfMessage }) =>
    stepOfMessage === 0
      ? { text: 'I look.', toolCalls: [{ name: 'ReadFile', args: { file_path: 'a.txt' } }] }
      : { text: '# Found\n\nIt says **one**:\n\n- two\n- three\n\n```ts\nconst x = 1;\n```' };
  await withApp(script, async ({ screen }) => {
    screen.type(`what is in a.txt${ENTER}`);
    const shown = await screen.until(/completed · 2 steps/);
    expect(shown).toMatch(/ask ❯ what is in a\.txt\n\n {2}I look\.\n\n {2}✓ ReadFile a\.txt → 3 lines \(\d/);
    expect(shown).toMatch(
      /Found\n\n {2}It says one:\n\n {2}- two\n {2}- three\n\n {2}```ts\n {4}const x = 1;\n {2}```/,
    );
    expect(shown.split('\n').at(-1)).toMatch(/^ ask · scripted · .*exploring/);
  });
});
