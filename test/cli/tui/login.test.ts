// /login in the interface, against a server that lists models: nothing that the terminal gets, keeps or logs has the key in it.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { visibleWidth } from '@earendil-works/pi-tui';
import { expect, test } from '@jest/globals';
import { Picker } from '../../../cli/tui/components/picker.ts';
import { Prompt } from '../../../cli/tui/components/prompt.ts';
import { themeNamed } from '../../../cli/tui/theme.ts';
import { ENTER, ESC, withApp } from './with-app.ts';

const KEY = 'key-of-the-user-0123456789abcdef';

test('G7: /login asks for provider, server and key in the place of the editor, tests the key and keeps it; it is shown nowhere, and Esc leaves', async () => {
  const reopened = { model: 'compatible/scripted', smallModel: 'compatible/scripted' };
  await withApp(
    ({ userText }) => ({ text: `Answer to <${userText.split('\n\n<')[0]}>` }),
    async ({ screen, world }) => {
      screen.type(`/login${ENTER}`);
      await screen.until(/Which provider\?\n[^]*anthropic[^]*compatible/);
      screen.type(ESC);
      await screen.until(/✗ Nothing was stored\./);
      screen.type(`/login nobody${ENTER}`);
      await screen.until(/✗ "nobody" is no provider to log in to/);
      screen.type(`/login compatible${ENTER}`);
      await screen.until(/Base URL of the server/);
      screen.type(`${world.server.url}/v1${ENTER}`);
      await screen.until(/Key for compatible, or Enter for none\n.*paste it; it is not shown/);
      screen.type(`\u001b[200~${KEY}\u001b[201~`);
      await screen.until(new RegExp(`•+ ${KEY.length} characters`));
      screen.type(ENTER);
      await screen.until(/Which model should plan and answer \(Enter: \S+\)/);
      screen.type(ENTER);
      await screen.until(/Logged in to compatible: it lists \d+ models?\./);
      await screen.until(/Model of what is typed next\n[^]*compatible\/scripted +of this login/);
      screen.type('\u001b[B');
      screen.type(ENTER);
      await screen.until(/ ask · scripted · /);
      expect(readFileSync(join(world.home, 'keys.json'), 'utf8')).toContain('"compatible"');
      expect(readdirSync(world.home)).toContain('history.jsonl');
      expect(readFileSync(join(world.home, 'history.jsonl'), 'utf8')).not.toContain(KEY);
      expect(screen.written.text).not.toContain(KEY);
      expect(world.logged.join('\n')).not.toContain(KEY);
    },
    { rows: 60, reopenModels: () => Promise.resolve(reopened) },
  );
});

test('G7: the lists and prompts of a login fit into a window of any width, and the key is never in them', () => {
  const theme = themeNamed('dark');
  const items = Array.from({ length: 20 }, (_, i) => ({ value: `${i}`, label: `provider ${i}`, description: 'x' }));
  for (const width of [8, 12, 22, 26, 100]) {
    const prompt = new Prompt({ title: 'Key for anthropic', theme, isSecret: true, onDone: () => {} });
    const picker = new Picker({ title: 'Which one?', items, theme, rows: () => 30, onPick() {}, onCancel() {} });
    const lines = [...picker.render(width), ...prompt.render(width)];
    prompt.handleInput(KEY);
    lines.push(...prompt.render(width));
    for (const line of lines) expect(visibleWidth(line)).toBeLessThanOrEqual(width);
    expect(lines.join('\n')).not.toContain(KEY.slice(0, 4));
  }
});
