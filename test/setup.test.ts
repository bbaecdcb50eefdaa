import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const isRoot = process.getuid?.() === 0;

/** A checkout with the real set-up and one package, which needs no network; `path` is all the set-up finds programs in. */
let root: string;
let path: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'odin-setup-')));
  path = join(root, 'path');
  for (const folder of ['bin', 'scripts']) cpSync(folder, join(root, folder), { recursive: true });
  mkdirSync(path);
  symlinkSync(process.execPath, join(path, 'node'));
  symlinkSync(realpathSync(programOnPath('npm')), join(path, 'npm'));
  put('leaf/package.json', '{"name":"leaf","version":"1.0.0"}');
  lock(
    '1.0.0',
    { leaf: 'file:leaf' },
    { leaf: { version: '1.0.0' }, 'node_modules/leaf': { resolved: 'leaf', link: true } },
  );
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(name: string, text: string): void {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
}

function program(name: string, script: string): void {
  put(`path/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, name), 0o755);
}

function lock(version: string, dependencies: object, packages: object): void {
  const self = { name: 'x', version, dependencies };
  put('package.json', JSON.stringify({ ...self, type: 'module' }));
  put('package-lock.json', JSON.stringify({ ...self, lockfileVersion: 3, packages: { '': self, ...packages } }));
}

function programOnPath(name: string): string {
  const found = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return found.find((file) => existsSync(file)) ?? name;
}

function setUp(env: Record<string, string> = {}, ...args: string[]): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/setup.mjs'), ...args], {
    env: { PATH: path, HOME: root, npm_config_cache: join(root, 'cache'), npm_config_update_notifier: 'false', ...env },
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  return { code: status, said: stderr };
}

const quiet = { code: 0, said: '' };

test('the first run installs the packages and says so on stderr; the next has nothing to do and nothing to say', () => {
  program('redis-server', '');
  program('bwrap', '');
  const first = setUp();
  expect(first).toMatchObject({ code: 0, said: expect.stringContaining('installing packages (npm ci): done in') });
  expect(existsSync(join(root, 'node_modules/leaf/package.json'))).toBe(true);
  expect(existsSync(join(root, '.setup.lock'))).toBe(false);
  expect(setUp()).toEqual(quiet);
});

test('an install that was interrupted, or is of another lock file, is done anew; one made by hand is taken over', () => {
  program('redis-server', '');
  program('bwrap', '');
  setUp();
  const stamp = join(root, 'node_modules/.odin-setup.json');

  rmSync(stamp);
  expect(setUp()).toEqual(quiet);
  expect(existsSync(stamp)).toBe(true);

  // What a killed `npm ci` leaves: a part of the packages, and no record of them.
  rmSync(stamp);
  rmSync(join(root, 'node_modules/.package-lock.json'));
  rmSync(join(root, 'node_modules/leaf'));
  expect(setUp().said).toContain('npm ci');
  expect(existsSync(join(root, 'node_modules/leaf/package.json'))).toBe(true);

  put('leaf/package.json', '{"name":"leaf","version":"2.0.0"}');
  lock(
    '2.0.0',
    { leaf: 'file:leaf' },
    { leaf: { version: '2.0.0' }, 'node_modules/leaf': { resolved: 'leaf', link: true } },
  );
  expect(setUp().said).toContain('npm ci');
  expect(setUp()).toEqual(quiet);
});

test('a failing npm ci shows what npm said and what to do, and is tried again by the next run', () => {
  program('redis-server', '');
  program('bwrap', '');
  const far = { version: '1.0.0', resolved: 'http://127.0.0.1:9/far.tgz', integrity: 'sha512-AAAA' };
  lock('1.0.0', { far: '1.0.0' }, { 'node_modules/far': far });
  const offline = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' };
  const failed = setUp(offline);
  expect(failed.code).toBe(1);
  expect(failed.said).toContain('ECONNREFUSED');
  expect(failed.said).toMatch(/npm ci` failed.*Is the network there.*run this again/);
  expect(setUp(offline).said).toContain('installing packages');
});

test('without a Redis server and a way to install one, the set-up says what to do', () => {
  program('bwrap', '');
  const none = setUp();
  expect(none.code).toBe(1);
  expect(none.said).toMatch(/found neither redis-server nor valkey-server. Install one of them and run this again/);
  expect(setUp({ REDIS_URL: 'redis://elsewhere' }, '--redis-url-will-do')).toEqual(quiet);
  expect(setUp({ REDIS_URL: 'redis://elsewhere' }).code).toBe(1);

  // Homebrew refuses root; for others it fails here. Either way the person gets the command.
  program('brew', 'echo no network; exit 1');
  const brew = setUp();
  expect(brew.code).toBe(1);
  expect(brew.said).toContain('Run this, then start again: brew install redis');
});

test('apt-get is used by root after refreshing its lists, and named to everyone else', () => {
  program(
    'apt-get',
    `
echo "$*" >> ${root}/apt.log
case "$*" in
  *"redis-server") printf '#!/bin/sh\\n' > ${path}/redis-server; ${programOnPath('chmod')} +x ${path}/redis-server;;
  *bubblewrap) exit 100;;
esac`,
  );
  const result = setUp();
  if (!isRoot) {
    expect(result.code).toBe(1);
    expect(result.said).toContain(
      'Run this, then start again: sudo apt-get update && sudo apt-get install -y redis-server',
    );
    return;
  }
  expect(result).toMatchObject({
    code: 0,
    said: expect.stringContaining('installing a Redis server (apt-get): done in'),
  });
  const calls = readFileSync(join(root, 'apt.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').at(-1));
  expect(calls).toEqual([
    'update',
    'redis-tools',
    'valkey-tools',
    'redis-server',
    'bubblewrap',
    'update',
    'bubblewrap',
  ]);
  expect(setUp()).toEqual(quiet);
});

test('a lock that a killed set-up left behind is taken over', () => {
  program('redis-server', '');
  program('bwrap', '');
  put('.setup.lock', '');
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(join(root, '.setup.lock'), longAgo, longAgo);
  expect(setUp().code).toBe(0);
  expect(setUp()).toEqual(quiet);
});
