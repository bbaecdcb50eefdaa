// Makes the bundle that crash scripts kill, if its sources have changed; one process at a time does, since test files that need it begin
// at the same moment.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CRASH_BUNDLE, freshBundle } from '../bin/launch.js';
import { run } from './setup/io.mjs';
import { withLock } from './setup/lock.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

mkdirSync(join(root, CRASH_BUNDLE), { recursive: true });
// Below node_modules no package.json above says that these are ES modules, and Node would find out by compiling each.
writeFileSync(join(root, CRASH_BUNDLE, 'package.json'), '{ "type": "module" }\n');
await withLock(join(root, CRASH_BUNDLE, 'lock'), async () => {
  if (freshBundle(root, CRASH_BUNDLE) !== null) return;
  const built = await run(process.execPath, [join(root, 'scripts', 'build.mjs'), '--crash'], { cwd: root });
  if (built.ok) return;
  process.stderr.write(`the bundle of the crash scripts could not be made:\n${built.tail}\n`);
  process.exitCode = 1;
});
