import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chooseNode, freshBundle } from '../bin/launch.js';

/** A checkout with the real launcher and a command line that tells what it was given. */
let root: string;

const SOURCE = `
export async function main(argv: string[]): Promise<number> {
  if (argv[0] === 'wait') {
    process.on('SIGTERM', () => process.exit(41));
    setInterval(() => {}, 1000);
    process.stdout.write('ready');
    return new Promise(() => {});
  }
  process.stdout.write(JSON.stringify({ argv, from: import.meta.url.slice(-7) }));
  return 7;
}
`;

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function launch(script: string, ...args: string[]): { code: number | null; said: unknown } {
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  return { code: status, said: stdout === '' ? null : JSON.parse(stdout) };
}

function bundle(inputs: readonly string[]): void {
  put('dist/abc/main.js', SOURCE.replace(': string[]', '').replace(': Promise<number>', ''));
  const stats = inputs.map((path) => [path, statSync(join(root, path)).size, statSync(join(root, path)).mtimeMs]);
  put('dist/manifest.json', JSON.stringify({ build: 'abc', inputs: stats }));
}

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'odin-launcher-')));
  cpSync('bin', join(root, 'bin'), { recursive: true });
  put('package.json', '{"type":"module"}');
  put('cli/main.ts', SOURCE);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

test('the launcher passes arguments on and exits with the code that main returns', () => {
  const args = ['run', 'two words', '--json', '-', '"quoted"', ''];
  expect(launch(join(root, 'bin/odin.js'), ...args)).toEqual({ code: 7, said: { argv: args, from: 'main.ts' } });
});

test('the launcher finds its checkout through a link, as npm link makes one', () => {
  const link = join(root, 'odin');
  symlinkSync(join(root, 'bin/odin.js'), link);
  expect(launch(link, 'x')).toEqual({ code: 7, said: { argv: ['x'], from: 'main.ts' } });
});

test('the bundle runs while the files it was made from are as they were, else the sources do', () => {
  bundle(['cli/main.ts', 'package.json']);
  expect(freshBundle(root)).toBe(join(root, 'dist', 'abc'));
  expect(launch(join(root, 'bin/odin.js')).said).toEqual({ argv: [], from: 'main.js' });

  put('cli/main.ts', `${SOURCE}// changed\n`);
  expect(freshBundle(root)).toBeNull();
  expect(launch(join(root, 'bin/odin.js')).said).toEqual({ argv: [], from: 'main.ts' });

  put('shared/gone.ts', '');
  bundle(['cli/main.ts', 'shared/gone.ts']);
  rmSync(join(root, 'shared/gone.ts'));
  expect(freshBundle(root)).toBeNull();

  put('dist/manifest.json', '{"build":"ab');
  expect(freshBundle(root)).toBeNull();
});

test('an old Node hands over to the pinned one, or says what to run when there is none', () => {
  expect(chooseNode('24.0.0', null)).toEqual({ kind: 'here' });
  expect(chooseNode('26.1.0', '/pinned')).toEqual({ kind: 'here' });
  expect(chooseNode('20.20.2', '/pinned')).toEqual({ kind: 'again', path: '/pinned' });
  expect(chooseNode('22.9.0', null)).toMatchObject({ kind: 'refuse', message: expect.stringContaining('`npm start`') });
});

test('a signal to the process that handed over reaches Odin, and Odin’s end becomes its own', async () => {
  const again = join(root, 'bin/again.js');
  writeFileSync(again, "import { runOn } from './run-on.js';\nawait runOn(process.execPath, process.argv.slice(2));\n");
  const start = async () => {
    const child = spawn(process.execPath, [again, join(root, 'bin/odin.js'), 'wait'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  };

  const polite = await start();
  polite.kill('SIGTERM');
  expect(await once(polite, 'exit')).toEqual([41, null]);

  const rude = await start();
  rude.kill('SIGHUP');
  expect(await once(rude, 'exit')).toEqual([null, 'SIGHUP']);

  expect(launch(again, join(root, 'bin/odin.js'), 'a b')).toMatchObject({ code: 7, said: { argv: ['a b'] } });
});
