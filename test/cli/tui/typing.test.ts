// What the editor does besides messages: file names, commands of the user's own, notes for ODIN.md, history, pasted texts.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { until } from '../../support/until.ts';
import { ENTER, withApp } from './with-app.ts';

const echo: Script = ({ userText }) => ({ text: `Answer of ${userText.split('\n\n<')[0]?.length} characters` });
const files = { 'src/retry-policy.ts': 'x\n', 'src/other.ts': 'y\n', '.gitignore': 'out\n', 'out/no.ts': '' };
const TAB = '\t';

test('G1: @ offers files of the project as one types, / offers commands, and Tab takes one', async () => {
  await withApp(
    echo,
    async ({ screen }) => {
      screen.type('look at @retry');
      await screen.until(/→ src\/retry-policy\.ts/);
      screen.type(TAB);
      await screen.until(/look at @src\/retry-policy\.ts/);
      screen.type('\u0003');
      screen.type('/mod');
      await screen.until(/→ mode[^]*the mode of what is typed next|\/mode[^]*\/model/);
    },
    { files },
  );
});

test('G1: ! runs a command of the user, # adds a line to ODIN.md, a pasted text is a marker and goes whole', async () => {
  await withApp(
    echo,
    async ({ screen, world }) => {
      screen.type(`!echo one; echo two >&2; exit 3${ENTER}`);
      await screen.until(/! echo one; echo two >&2; exit 3 \(exit 3\)\n {2}one\n {2}two/);
      screen.type(`#tests need a running Redis${ENTER}`);
      await screen.until(/added to ODIN\.md: tests need a running Redis/);
      expect(readFileSync(join(world.project, 'ODIN.md'), 'utf8')).toMatch(/\n- tests need a running Redis\n$/);
      const long = Array.from({ length: 40 }, (_, i) => `pasted line ${i}`).join('\n');
      screen.type(`\u001b[200~${long}\u001b[201~`);
      await screen.until(/\[paste #1 \+40 lines\]/);
      screen.type(ENTER);
      await screen.until(new RegExp(`Answer of ${long.length} characters`));
      const png = '89504e470d0a1a0a0000000d494844520000032000000258080600000000';
      writeFileSync(join(world.project, 'my shot.png'), Buffer.from(png, 'hex'));
      screen.type(`\u001b[200~'${world.project}/my shot.png'\u001b[201~`);
      screen.type(`${ENTER}`);
      await screen.until(/my shot\.png goes as a path: anthropic\/scripted takes no pictures/);
      screen.type(`/model anthropic/claude-opus-5-5${ENTER}`);
      screen.type(`what is in @"my shot.png" and no.png and @no.png${ENTER}`);
      await screen.until(/\/no\.png goes as a path: no\.png cannot be read \(ENOENT\)/);
      await screen.until(/ask ❯ what is in @"my shot\.png"[^\n]*\n {2}▣ my shot\.png, 800×600\n[^]*completed/);
      expect(world.server.requests.at(-1)?.body).toContain(Buffer.from(png, 'hex').toString('base64'));
    },
    { rows: 80 },
  );
});

const CTRL_V = '\u0016';
const ALT_V = '\u001bv';
const EMPTY_PASTE = '\u001b[200~\u001b[201~';

test('G1: Ctrl-V takes the picture in the clipboard along, under the limits of every picture; what is missing for that is said', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'odin-clipboard-'));
  const has = (types: string, content: Buffer) => {
    writeFileSync(join(folder, 'content'), content);
    const listed = types === '' ? 'echo Nothing is copied >&2; exit 1' : `printf '${types}'`;
    const script = `#!/bin/sh\ncase "$1" in --list-types) ${listed};; *) cat '${folder}/content';; esac\n`;
    writeFileSync(join(folder, 'wl-paste'), script, { mode: 0o755 });
  };
  const shot = Buffer.from('89504e470d0a1a0a0000000d494844520000032000000258080600000000', 'hex');
  const env: NodeJS.ProcessEnv = { PATH: folder };
  try {
    await withApp(
      echo,
      async ({ screen, world }) => {
        Object.assign(env, { HOME: world.home, ODIN_HOME: world.home, NO_COLOR: '1' });
        env['SSH_CONNECTION'] = '1';
        screen.type(CTRL_V);
        await screen.until(
          /over ssh the clipboard of your own machine cannot be read[^]*Name a file instead: @shot\.png/,
        );
        delete env['SSH_CONNECTION'];
        screen.type(CTRL_V);
        await screen.until(/no clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set/);
        env['WAYLAND_DISPLAY'] = 'wayland-0';
        screen.type(CTRL_V);
        await screen.until(/read from the clipboard by wl-paste, which is not installed \(package wl-clipboard\)/);
        env['PATH'] = `${folder}:${process.env['PATH']}`;
        has('', shot);
        screen.type(CTRL_V);
        await screen.until(/no picture is in the clipboard \(Nothing is copied\)\. Text the terminal pastes itself/);
        has('image/bmp\\n', shot);
        screen.type(CTRL_V);
        await screen.until(/the clipboard has image\/bmp, and models take PNG/);
        has('text/plain\\nimage/png\\n', Buffer.from('no picture'));
        screen.type(CTRL_V);
        await screen.until(/anthropic\/scripted takes no pictures/);
        screen.type(`/model anthropic/claude-opus-5-5${ENTER}${CTRL_V}`);
        await screen.until(/clipboard-[0-9a-f]{6} is no PNG, JPEG, GIF or WebP/);
        has('image/png', Buffer.concat([shot, Buffer.alloc(4_000_000)]));
        screen.type(ALT_V);
        await screen.until(/clipboard-[0-9a-f]{6} has 4\.0 MB; models take 3\.9 MB/);
        has('image/png', shot);
        screen.type('what is ');
        screen.type(EMPTY_PASTE);
        await screen.until(/ what is \[clipboard-[0-9a-f]{6}, 800×600\] *\n─/);
        screen.type(`here? Not [clipboard-000000, 1×1]${ENTER}`);
        await screen.until(/\[clipboard-000000, 1×1\] goes as a word: the picture is not here any more/);
        await screen.until(/ask ❯ what is \[clipboard[^\n]*\n {2}▣ clipboard-[0-9a-f]{6}, 800×600\n[^]*completed/);
        expect(world.server.requests.at(-1)?.body).toContain(shot.toString('base64'));
      },
      { rows: 60, columns: 140, env },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('G1: a command of the user that is still running, and what it has started, end when the interface is left', async () => {
  await withApp(echo, async ({ screen, world, app }) => {
    screen.type(`hello${ENTER}`);
    await screen.until(/Answer of 5 characters[^]*completed/);
    const pids = join(world.project, 'pids');
    screen.type(`!sleep 1000 & echo $! $$ > pids; wait${ENTER}`);
    await until(() => existsSync(pids) && readFileSync(pids, 'utf8').endsWith('\n'));
    app.leave();
    for (const pid of readFileSync(pids, 'utf8').trim().split(' ')) await until(() => !isAlive(Number(pid)));
  });
});

function isAlive(pid: number): boolean {
  try {
    // One that nobody has waited for yet is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('G1: what was typed in one session can be walked back to in the next', async () => {
  await withApp(echo, async ({ screen, world }) => {
    screen.type(`an old question${ENTER}`);
    await screen.until(/Answer of 15 characters[^]*completed/);
    const kept = readFileSync(join(world.home, 'history.jsonl'), 'utf8');
    expect(kept).toBe('"an old question"\n');
    screen.type('\u001b[A');
    await screen.until(/────\n an old question\n────/);
  });
});
