// Everything that is checked without running Odin: types, lint, format, import direction, dead code. One line each; what fails is shown.

import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinnedNode } from '../bin/launch.js';
import { run } from './setup/io.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = pinnedNode(root) ?? process.execPath;
/** @param {string} name */
const bin = (name) => join(root, 'node_modules', '.bin', name);

/** @type {readonly (readonly [string, string, readonly string[]])[]} */
const checks = [
  ['types', bin('tsc'), ['-p', '.']],
  ['lint', bin('oxlint'), ['--type-aware', '.']],
  ['format', bin('biome'), ['ci', '--colors=off', '.']],
  ['import direction', node, [join(root, 'scripts', 'test.mjs'), 'test/architecture.test.ts']],
  ['dead code', bin('knip'), ['--no-progress']],
];

const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
let failed = 0;
for (const [name, command, args] of checks) {
  const result = await run(command, args, { cwd: root, env });
  process.stdout.write(`${result.ok ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (result.ok) continue;
  failed += 1;
  process.stdout.write(`${result.tail}\n`);
}
process.stdout.write(`checks: ${checks.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
