// A process that serves for hours beside others keeps no more memory than it needs. V8 lets its heap grow as long as there is room, which
// is the right thing for a run and the wrong one for a watcher; how far is fixed when a process starts.

/** Small steps: young objects in 4 MB, and the old ones collected when they have grown by half. No limit that could end it. */
const FLAGS = ['--max-semi-space-size=4', '--initial-old-space-size=32', '--heap-growing-percent=50'];

/** Begins this process anew with a small heap, where that is possible: same pid, terminal and arguments. Nothing may be open yet. */
export function beginLean(): void {
  if (process.execve === undefined || process.execArgv.includes(FLAGS[0] ?? '')) return;
  const args = [process.execPath, ...FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, args, process.env);
  } catch {
    // Not on this system: then it is not lean.
  }
}
