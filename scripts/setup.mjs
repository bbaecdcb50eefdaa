// Makes a checkout ready to run: packages, the pinned Node, a Redis server, the bundle. Quiet and quick when nothing is to do.
// Plain JavaScript for Node 20 that imports nothing from node_modules: it runs before they exist. Talks on stderr only, so that
// what Odin itself prints can be redirected. Every step looks at what is there, so an interrupted run is repaired by the next one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseNode, freshBundle, pinnedNode } from '../bin/launch.js';
import { run, SetUpError, say } from './setup/io.mjs';
import { withLock } from './setup/lock.mjs';
import { installPackages, packagesAreCurrent } from './setup/packages.mjs';
import { findRedis, installBubblewrap, installRedis, wantsBubblewrap } from './setup/system.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `--redis-url-will-do`: a REDIS_URL stands in for a server of our own (true for a run, false for the tests). */
const needsServer = !(process.argv.includes('--redis-url-will-do') && process.env.REDIS_URL);

async function setUp() {
  if (!ready()) await withLock(join(root, '.setup.lock'), makeReady);
}

function ready() {
  return packagesAreCurrent(root) && nodeIsThere() && redisIsThere() && !wantsBubblewrap(root) && bundleIsThere();
}

async function makeReady() {
  if (!packagesAreCurrent(root)) await installPackages(root);
  const choice = chooseNode(process.versions.node, pinnedNode(root));
  if (choice.kind === 'refuse') {
    throw new SetUpError(
      `Node 24 could not be installed (package \`node\`), and this is Node ${process.versions.node}. ` +
        'Install Node 24 or newer from https://nodejs.org and run this again.',
    );
  }
  if (!redisIsThere()) await installRedis();
  if (wantsBubblewrap(root)) await installBubblewrap(root);
  if (!bundleIsThere()) await buildBundle(choice.kind === 'again' ? choice.path : process.execPath);
}

function nodeIsThere() {
  return chooseNode(process.versions.node, pinnedNode(root)).kind !== 'refuse';
}

function redisIsThere() {
  return !needsServer || findRedis() !== null;
}

function bundleIsThere() {
  return !existsSync(join(root, 'node_modules', 'esbuild')) || freshBundle(root) !== null;
}

/**
 * Odin runs from its sources too, only slower, so a bundle that cannot be made is no reason to stop.
 * @param {string} node
 */
async function buildBundle(node) {
  const built = await run(node, [join(root, 'scripts', 'build.mjs')], { cwd: root });
  if (!built.ok) say(`the bundle could not be built, so Odin runs from its sources (slower start):\n${built.tail}`);
}

try {
  await setUp();
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
