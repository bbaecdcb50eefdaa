// An owner of two commands, one in the background and one in the foreground, that is killed by the test.

import { homedir } from 'node:os';
import { openCommands } from '../../orchestrator/exec/commands.ts';
import type { CommandHooks, CommandRequest } from '../../shared/exec-port.ts';
import { UNCONFINED } from './exec-bench.ts';

const { root, home, word } = JSON.parse(process.argv[2] ?? '') as Record<'root' | 'home' | 'word', string>;
const signal = new AbortController().signal;
const commands = openCommands({
  root,
  home,
  userHome: homedir(),
  env: process.env,
  closing: signal,
  find: () => Promise.resolve(UNCONFINED),
});
const port = commands.portFor('session');
const hooks: CommandHooks = { signal, onOutput: () => {}, intend: () => Promise.resolve() };
const request = (command: string, opKey: string): CommandRequest => ({
  command,
  cwd: root,
  timeoutMs: 30_000,
  profile: 'read-write',
  network: false,
  extraPaths: [],
  opKey,
});
await port.start(request(`exec -a back-${word} sleep 100`, '1.1.1'), hooks);
await port.run(request('touch fore; until [ -e go ]; do sleep 0.02; done; touch done', '1.1.2'), hooks);
