// A process that lives for long and allocates much: V8 lets its memory grow to several times what it holds, by the size of the machine.
// How much is decided when a process begins, so this one begins again, as the same process, with bounds.

/** Megabytes of new objects before they are looked through. */
const YOUNG_MB = 4;

/** Returns when the process has bounds, has been given others by the user, or is on a system where it cannot begin again. */
export function boundMemory(mostMb: number): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (/--max[-_](old[-_]space|semi[-_]space|heap)[-_]size/.test(given) || process.platform === 'win32') return;
  const flags = [`--max-semi-space-size=${YOUNG_MB}`, `--max-old-space-size=${mostMb}`];
  // Node warns that this is new.
  const listeners = process.listeners('warning');
  process.removeAllListeners('warning');
  try {
    process.execve?.(process.execPath, [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]);
  } catch {
    // It goes on as it is.
    for (const listener of listeners) process.on('warning', listener);
  }
}
