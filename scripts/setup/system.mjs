// Programs that are not npm packages: a Redis server (needed) and bubblewrap (a nicety). They come from the system's package
// manager when we may use it; otherwise the person is told the one command to run. No service of the system is started.

import { accessSync, constants, existsSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { announce, run, SetUpError } from './io.mjs';
import { readStamp, writeStamp } from './packages.mjs';

/**
 * @typedef {{
 *   command: string, refresh?: readonly string[], install: readonly string[], packages: readonly string[],
 *   advice?: string, asUser?: boolean,
 * }} Manager
 */

const aptOptions = ['-o', 'DPkg::Lock::Timeout=120'];

/** @type {Manager} */
const apt = {
  command: 'apt-get',
  refresh: [...aptOptions, 'update'],
  install: [...aptOptions, 'install', '-y', '--no-install-recommends'],
  // redis-tools has the server program without the service that redis-server would start on port 6379.
  packages: ['redis-tools', 'valkey-tools', 'redis-server'],
  advice: 'sudo apt-get update && sudo apt-get install -y redis-server',
};

/**
 * In the order of trying. `packages` are alternatives, the first that brings a server wins.
 * @type {readonly Manager[]}
 */
const managers = [
  apt,
  { command: 'dnf', install: ['install', '-y', '--refresh'], packages: ['valkey', 'redis'] },
  { command: 'yum', install: ['install', '-y'], packages: ['valkey', 'redis'] },
  { command: 'apk', install: ['add', '--no-cache'], packages: ['valkey', 'redis'] },
  { command: 'pacman', install: ['-Sy', '--noconfirm'], packages: ['valkey', 'redis'] },
  { command: 'zypper', refresh: ['-n', 'refresh'], install: ['-n', 'install'], packages: ['valkey', 'redis'] },
  { command: 'brew', refresh: ['update'], install: ['install'], packages: ['redis', 'valkey'], asUser: true },
];

/** The server's path, or null. */
export function findRedis() {
  return findOnPath('redis-server') ?? findOnPath('valkey-server');
}

export async function installRedis() {
  const manager = managers.find(({ command }) => findOnPath(command) !== null);
  if (manager === undefined) {
    throw new SetUpError(
      'needs a Redis server and found neither redis-server nor valkey-server. Install one of them and run this again.',
    );
  }
  const advice = manager.advice ?? adviceFor(manager);
  if (!mayUse(manager)) {
    throw new SetUpError(`needs a Redis server and found none. Run this, then start again: ${advice}`);
  }
  const result = await announce(`installing a Redis server (${manager.command})`, () => tryPackages(manager));
  if (!result.ok) {
    throw new SetUpError(
      `${result.tail}\nodin: no Redis server could be installed. Run this, then start again: ${advice}`,
    );
  }
}

/**
 * Asked for once per install of the packages: Odin works without it.
 * @param {string} root
 */
export function wantsBubblewrap(root) {
  if (process.platform !== 'linux' || readStamp(root).bubblewrap || !isRoot()) return false;
  return findOnPath('bwrap') === null && findOnPath('apt-get') !== null;
}

/** @param {string} root */
export async function installBubblewrap(root) {
  await announce('installing bubblewrap (apt-get)', async () => {
    const install = () => run(apt.command, [...apt.install, 'bubblewrap'], { env: quietEnv() });
    const result = await install();
    if (result.ok) return result;
    await run(apt.command, apt.refresh ?? [], { env: quietEnv() });
    return install();
  });
  writeStamp(root, { ...readStamp(root), bubblewrap: 'asked for' });
}

/** @param {Manager} manager */
async function tryPackages(manager) {
  let last = { ok: true, tail: '' };
  // A list that could not be refreshed may still do; if it does not, its complaint is part of the story.
  if (manager.refresh !== undefined) last = await run(manager.command, manager.refresh, { env: quietEnv() });
  const story = last.ok ? [] : [last.tail];
  for (const name of manager.packages) {
    last = await run(manager.command, [...manager.install, name], { env: quietEnv() });
    if (last.ok && findRedis() === null) await linkServer();
    if (findRedis() !== null) return { ok: true, tail: '' };
    if (!last.ok) story.push(last.tail);
  }
  return { ok: false, tail: story.join('\n') };
}

/** Debian's redis-server is its redis-check-rdb under another name; the name alone is in the package with the service. */
async function linkServer() {
  const folder = '/usr/local/bin';
  if (!(process.env.PATH ?? '').split(delimiter).includes(folder)) return;
  for (const kind of ['redis', 'valkey']) {
    const program = findOnPath(`${kind}-check-rdb`);
    const link = join(folder, `${kind}-server`);
    if (program === null || existsSync(link)) continue;
    rmSync(link, { force: true });
    symlinkSync(program, link);
    const version = await run(link, ['--version']);
    if (version.ok && version.tail.includes('server')) return;
    rmSync(link, { force: true });
  }
}

/** @param {Manager} manager */
function mayUse(manager) {
  return manager.asUser === true ? !isRoot() : isRoot();
}

/** @param {Manager} manager */
function adviceFor({ command, install, packages, asUser }) {
  return `${asUser ? '' : 'sudo '}${command} ${install.join(' ')} ${packages[0]}`;
}

function isRoot() {
  return process.getuid?.() === 0;
}

function quietEnv() {
  return { ...process.env, DEBIAN_FRONTEND: 'noninteractive', HOMEBREW_NO_AUTO_UPDATE: '1' };
}

/** @param {string} program */
function findOnPath(program) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder === '') continue;
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here; the next folder may have it.
    }
  }
  return null;
}
