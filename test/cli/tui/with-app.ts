// The interface on an emulated screen with a whole Odin behind it, for tests.

import { expect } from '@jest/globals';
import { type App, startApp } from '../../../cli/tui/app.ts';
import type { AppOptions } from '../../../cli/tui/desk.ts';
import type { Script } from '../../../llm/scripted/script.ts';
import { type World, withWorld } from '../../support/odin-world.ts';
import { createScreen, type Screen } from './screen.ts';

export const ENTER = '\r';
export const ESC = '\u001b';
export const SHIFT_TAB = '\u001b[Z';
export const ALT_UP = '\u001b[1;3A';

export interface AppOnScreen {
  readonly world: World;
  readonly screen: Screen;
  readonly app: App;
}

/** An interface on a screen, left at the end. */
export async function withApp(
  script: Script,
  use: (on: AppOnScreen) => Promise<void>,
  more: Partial<AppOptions> & {
    readonly columns?: number;
    readonly rows?: number;
    readonly files?: Readonly<Record<string, string>>;
    /** What happens before the interface opens. */
    readonly before?: (world: World) => Promise<void>;
  } = {},
): Promise<void> {
  await withWorld({ script, files: more.files ?? { 'a.txt': 'one\ntwo\nthree\n' } }, async (world) => {
    await more.before?.(world);
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
      cwd: world.project,
      env: {
        PATH: process.env['PATH'],
        HOME: world.home,
        ODIN_HOME: world.home,
        NO_COLOR: '1',
        ANTHROPIC_API_KEY: 'test',
        ANTHROPIC_BASE_URL: world.server.url,
      },
      version: '0.0.0',
      sandbox: Promise.resolve('sandbox'),
      ...more,
    });
    await screen.until(/\/help shows/);
    await use({ world, screen, app });
    app.leave();
    expect(await app.done).toBe(0);
  });
}
