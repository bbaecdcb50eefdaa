// Runs the tests on the Node that Odin runs on, passing its arguments on to jest. `npm test` comes here after the set-up.

import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinnedNode } from '../bin/launch.js';
import { runOn } from '../bin/run-on.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = pinnedNode(root) ?? process.execPath;
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
// jest still needs the flag for ES modules; what it warns about is that it was given.
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

process.chdir(root);
await runOn(node, [...flags, jest, ...process.argv.slice(2)], {
  ...process.env,
  PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
});
