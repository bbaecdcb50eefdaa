// A process that takes a lock and keeps it until it is killed.

import { tryLock } from '../../orchestrator/process-lock.ts';

const held = await tryLock(process.argv[2] ?? '');
process.stdout.write(held === null ? 'refused\n' : 'locked\n');
process.stdin.resume();
