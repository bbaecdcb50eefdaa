// An exec port for tools that run no commands: every use of it fails the test.

import type { ExecPort } from '../../shared/exec-port.ts';

const none = () => {
  throw new Error('This tool runs no commands.');
};

export const noCommands: ExecPort = {
  control: { paths: [], ports: [], hosts: [] },
  sandbox: none,
  cwd: none,
  run: none,
  start: none,
  read: none,
  stop: none,
  list: none,
};
