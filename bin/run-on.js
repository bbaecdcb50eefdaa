// Runs a script on another Node as if it were this process: same terminal, arguments, signals and way to end.
// Plain JavaScript that Node 20 can run.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isatty } from 'node:tty';

/** @type {readonly NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];

/**
 * Ends as the other process ends: with its exit code, or by the signal that killed it.
 * @param {string} node
 * @param {readonly string[]} args
 */
export async function runOn(node, args, env = process.env) {
  const child = spawn(node, args, { stdio: 'inherit', env });
  // In a terminal Ctrl+C and Ctrl+\ reach the child by themselves; passing them on would be a second press.
  const fromTerminal = [0, 1, 2].some((fd) => isatty(fd));
  for (const signal of SIGNALS) {
    const alreadyThere = fromTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
    process.on(signal, () => alreadyThere || child.kill(signal));
  }
  const [code, signal] = /** @type {[number | null, NodeJS.Signals | null]} */ (await once(child, 'exit'));
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Where the signal cannot end this process, the shell's convention for it can.
  setTimeout(() => process.exit(1), 1000);
}
