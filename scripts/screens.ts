// `node scripts/screens.ts`: text captures of the interface for the pages, made by the interface itself on an emulated terminal, with a
// real Odin and a scripted model behind it. Writes docs/screens/*.txt.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../cli/tui/app.ts';
import { chooseModel } from '../llm/choose-model.ts';
import { startScriptedServer } from '../llm/scripted/server.ts';
import { openOdin } from '../orchestrator/odin.ts';
import { createScreen } from '../test/cli/tui/screen.ts';

const out = new URL('../docs/screens/', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'odin-screens-'));
const project = join(folder, 'shop');
mkdirSync(join(project, 'src'), { recursive: true });
mkdirSync(out, { recursive: true });
writeFileSync(join(project, 'ODIN.md'), '# Shop\n');
writeFileSync(join(project, 'src', 'retry.ts'), 'export const delay = (attempt: number) => 500 * attempt;\n');

const gate = Promise.withResolvers<void>();
const server = await startScriptedServer({
  async script({ userText, stepOfMessage }) {
    const text = userText.split('\n\n<')[0] ?? '';
    if (text.startsWith('where')) {
      return stepOfMessage === 0
        ? {
            toolCalls: [
              { name: 'Grep', args: { pattern: 'delay' } },
              { name: 'ReadFile', args: { file_path: 'src/retry.ts' } },
            ],
          }
        : {
            text: 'In `src/retry.ts`: the wait grows **linearly**.\n\n```ts\nexport const delay = (attempt: number) => 500 * attempt;\n```',
          };
    }
    if (text.startsWith('make it')) {
      if (stepOfMessage === 1) return { toolCalls: [{ name: 'ExecuteCommand', args: { command: 'npm publish' } }] };
      return stepOfMessage === 0
        ? {
            text: 'I change the policy first.',
            toolCalls: [
              {
                name: 'EditTool',
                args: { file_path: 'src/retry.ts', old_string: '500 * attempt', new_string: '500 * 2 ** attempt' },
              },
              {
                name: 'TodoWrite',
                args: {
                  todos: [
                    { id: '1', content: 'double the wait with each attempt', status: 'completed' },
                    { id: '2', content: 'publish it', status: 'in_progress' },
                    { id: '3', content: 'update the page', status: 'pending' },
                  ],
                },
              },
            ],
          }
        : { text: 'Published nothing: you said no.' };
    }
    if (text.startsWith('plan'))
      return { text: 'Goal: a cap for the wait.\n\n1. `src/retry.ts`: cap it at 8 s.\n2. Run the tests.' };
    await gate.promise;
    return { text: 'Done.' };
  },
});
const chosen = await chooseModel({
  flagModel: 'anthropic/claude-opus-5-5',
  flagSmallModel: 'anthropic/claude-opus-5-5',
  env: { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: server.url },
});
if (!chosen.ok) throw new Error(chosen.failure.message);
const odin = openOdin({
  cwd: project,
  home: join(folder, 'home'),
  models: chosen.value,
  permission: { mode: 'ask', timeoutMs: null },
});
const screen = createScreen(92, 32);
const app = startApp({
  terminal: screen,
  odin,
  session: null,
  mode: 'ask',
  limits: { maxSteps: 9 },
  models: { model: chosen.value.model, smallModel: chosen.value.smallModel },
  cwd: project,
  env: { NO_COLOR: '1', ODIN_HOME: join(folder, 'home') },
  version: '0.1.0',
  sandbox: Promise.resolve('sandbox'),
});

/** The screen when it matches, without this machine's paths and times. */
async function capture(name: string, expected: RegExp): Promise<void> {
  const shown = await screen.until(expected);
  const steady = shown
    .replaceAll(project, '~/shop')
    .replace(/\(\d+ ms\)|\(\d\.\d s\)/g, '(12 ms)')
    .replace(/[◐◓◑◒] (.*) · \d+ s ·/g, '◐ $1 · 2 s ·');
  writeFileSync(join(out, `${name}.txt`), `${steady}\n`);
}

const send = (text: string) => screen.type(`${text}\r`);
await screen.until(/ask · claude/);
send('where is the retry policy?');
await capture('answer', /completed[^]*────/);
screen.type('\u001b[Z');
screen.type('\u001b[Z');
send('make it exponential and publish it');
await capture('permission', /❯ y {2}yes, this once/);
screen.type('n');
await screen.until(/you said no\.[^]*completed/);
send('/clear');
await screen.until(/^(?![^]*Published)/);
send('wait for the tests');
await screen.until(/thinking · \d/);
send('then update the changelog');
screen.type('\u001b[Z');
send('and what is left to do?');
await screen.until(/↳ edit then[^]*↳ ask and what/);
screen.type('\u0013');
await capture('queue', /told with the next step: then[^]*↳ ask and what/);
gate.resolve();
await screen.until(/Done\.[^]*ask ❯ and what[^]*Done\.[^]*completed[^]*────/);
send('/mode plan');
send('plan a cap');
await capture('plan', /What becomes of the plan/);
screen.type('\u001b');
send('/sessions');
await capture('sessions', /Sessions of this project\n/);
screen.type('\u001b');
send('/context');
await capture('context', /window .*\n[^]*session \d/);
send('/login');
await screen.until(/Which provider/);
screen.type('\r');
await screen.until(/Key for anthropic/);
screen.type('\u001b[200~sk-not-a-key-0123456789\u001b[201~');
await capture('login', /• 23 characters/);
screen.type('\u001b');
app.leave();
await app.done;
await (await odin).close();
await server.close();
rmSync(folder, { recursive: true, force: true });
