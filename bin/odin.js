#!/usr/bin/env node
// The launcher: makes sure of the right Node, turns the compile cache on and hands over to cli/main.ts or its bundle.
// Plain JavaScript that Node 20 can parse, and nothing more than that happens before the hand-over: start-up time is a feature.

import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { chooseNode, freshBundle, pinnedNode } from './launch.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const version = process.versions.node;
const choice = chooseNode(version, pinnedNode(root));

if (choice.kind === 'here') {
  // Most runs are short: functions are worth optimising from their first call (0.4 ms less a planner step, measured by bench turn).
  setFlagsFromString('--no-lazy-feedback-allocation');
  const bundle = freshBundle(root);
  nodeModule.enableCompileCache(join(bundle ?? join(root, 'node_modules', '.cache', 'odin'), 'compile-cache'));
  const entry = bundle === null ? join(root, 'cli', 'main.ts') : join(bundle, 'main.js');
  const { main } = await import(pathToFileURL(entry).href);
  process.exitCode = await main(process.argv.slice(2));
} else if (choice.kind === 'again') {
  const { runOn } = await import('./run-on.js');
  await runOn(choice.path, process.argv.slice(1));
} else {
  process.stderr.write(`${choice.message}\n`);
  process.exitCode = 1;
}
