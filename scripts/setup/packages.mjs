// The packages of package-lock.json in node_modules. A stamp, written last, names the lock file they were installed from: without
// it, or with another lock file, they are installed anew, unless npm's own record shows that somebody already did that by hand.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, run, SetUpError, say } from './io.mjs';

/**
 * True when nothing is to do.
 * @param {string} root
 */
export function packagesAreCurrent(root) {
  return readStamp(root).lock === lockMark(root);
}

/** @param {string} root */
export async function installPackages(root) {
  const mark = lockMark(root);
  if (installedByHand(root)) return writeStamp(root, { lock: mark });
  const { command, args } = npm();
  // Progress is ours to tell; warnings about the Node that npm runs on do not matter, since Odin runs on the pinned one.
  const ci = [...args, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--no-progress'];
  const installed = await announce('installing packages (npm ci)', () => run(command, ci, { cwd: root }));
  if (installed.ok) return writeStamp(root, { lock: mark });
  say(installed.tail);
  throw new SetUpError(
    '`npm ci` failed, its last lines are above. Is the network there, and the registry that npm is set to? Then run this again: it starts over.',
  );
}

/**
 * What the stamp remembers besides the packages is remembered until they are installed anew.
 * @param {string} root
 * @returns {{ lock?: string, bubblewrap?: string }}
 */
export function readStamp(root) {
  try {
    return JSON.parse(readFileSync(stampPath(root), 'utf8'));
  } catch {
    return {};
  }
}

/**
 * @param {string} root
 * @param {{ lock?: string, bubblewrap?: string }} stamp
 */
export function writeStamp(root, stamp) {
  writeFileSync(stampPath(root), `${JSON.stringify(stamp)}\n`);
}

/** @param {string} root */
function stampPath(root) {
  return join(root, 'node_modules', '.odin-setup.json');
}

/**
 * Another platform's packages do not count: a folder may be shared between a container and its host.
 * @param {string} root
 */
function lockMark(root) {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return `${process.platform}-${process.arch} ${createHash('sha256').update(lock).digest('hex')}`;
}

/**
 * npm writes its record at the end of an install and removes it at the start, so what it lists is there.
 * @param {string} root
 */
function installedByHand(root) {
  try {
    /** @type {Record<string, { version?: string, optional?: boolean }>} */
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
    /** @type {typeof wanted} */
    const found = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    return Object.entries(wanted).every(([path, entry]) => {
      if (path === '') return true;
      const there = found[path];
      if (there === undefined) return entry.optional === true && !existsSync(join(root, path));
      return there.version === entry.version && existsSync(join(root, path));
    });
  } catch {
    return false;
  }
}

/** The npm that started us with the Node it runs on (our own may be the one in node_modules, which `npm ci` removes), else npm on PATH. */
function npm() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  if (cli?.endsWith('npm-cli.js') && node) return { command: node, args: [cli] };
  return process.platform === 'win32' ? { command: 'cmd', args: ['/c', 'npm'] } : { command: 'npm', args: [] };
}
