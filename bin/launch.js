// What the launcher decides before any of Odin is loaded: which Node runs it, and whether the bundle may stand in for the sources.
// Plain JavaScript that Node 20 can run; scripts/ uses it too. It reads files and starts nothing.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const NEEDED_MAJOR = 24;

/** Where the bundle of the crash scripts lies, below the root. */
export const CRASH_BUNDLE = 'node_modules/.cache/odin-crash';

/**
 * The Node that package.json pins, or null when it is not installed.
 * @param {string} root
 */
export function pinnedNode(root) {
  const path = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  return existsSync(path) ? path : null;
}

/**
 * Which Node is to run Odin: the one that runs now (`here`), the pinned one (`again`), or none (`refuse`).
 * @param {string} version
 * @param {string | null} pinned
 * @returns {{ kind: 'here' } | { kind: 'again', path: string } | { kind: 'refuse', message: string }}
 */
export function chooseNode(version, pinned) {
  if (Number.parseInt(version, 10) >= NEEDED_MAJOR) return { kind: 'here' };
  if (pinned !== null) return { kind: 'again', path: pinned };
  return {
    kind: 'refuse',
    message: `odin: needs Node ${NEEDED_MAJOR} or newer, this is ${version}. Run \`npm start\` in Odin's folder once: it installs the right one.`,
  };
}

/**
 * The folder of the current bundle, or null when there is none or one of the files it was made from has changed.
 * A file that is new changes nothing until one of these imports it, so looking at these is enough.
 * @param {string} root
 * @param {string} folder below the root
 * @returns {string | null}
 */
export function freshBundle(root, folder = 'dist') {
  let manifest;
  try {
    manifest = JSON.parse(readFileSync(join(root, folder, 'manifest.json'), 'utf8'));
    for (const [path, size, mtimeMs] of manifest.inputs) {
      const found = statSync(join(root, path));
      if (found.size !== size || found.mtimeMs !== mtimeMs) return null;
    }
  } catch {
    return null;
  }
  return join(root, folder, manifest.build);
}
