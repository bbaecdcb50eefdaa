// The processes that tests and crash scripts start, and often kill, run from a bundle, as a user's Odin does, made when the sources
// have changed. Unlike a user's it has the crash points in it. From its sources a process takes twice the time and the work to come up.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { CRASH_BUNDLE, freshBundle } from '../../bin/launch.js';

const ROOT = join(import.meta.dirname, '../..');

/** For Node: a process that lives for a second spends a sixth of its work on garbage while its heap is small. */
export const FEWER_COLLECTIONS = ['--min-semi-space-size=16'];

let made: string | null = null;

/** How node runs a child of test/support that scripts/build.mjs bundles. */
export function crashChild(name: string): { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv } {
  made ??= freshBundle(ROOT, CRASH_BUNDLE) ?? make();
  // As the launcher does it.
  const args = [...FEWER_COLLECTIONS, '--no-lazy-feedback-allocation', join(made, `${name}.js`)];
  return { args, env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: join(made, 'compile-cache') } };
}

function make(): string {
  for (let tries = 1; tries <= 3; tries++) {
    execFileSync(process.execPath, [join(ROOT, 'scripts/crash-bundle.mjs')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const bundle = freshBundle(ROOT, CRASH_BUNDLE);
    if (bundle !== null) return bundle;
  }
  throw new Error('The sources change faster than they can be bundled for the crash scripts.');
}
