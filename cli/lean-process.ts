// A process that serves for hours beside others keeps no more memory than it needs. V8 lets its heap grow as long as there is room, which
// is the right thing for a run and the wrong one for a watcher; how far is fixed when a process starts.

/** Small steps: young objects in 4 MB, and the old ones collected when they have grown by half. No limit that could end it. */
const FLAGS = ['--max-semi-space-size=4', '--initial-old-space-size=32', '--heap-growing-percent=50'];

/** In glibc each thread has a pool of its own, and gives none of it back: with 500 tasks 10 to 80 MB, and nobody can say how much. */
const MALLOC = { MALLOC_ARENA_MAX: '1' };

/**
 * Begins this process anew with a small heap, where that is possible: same pid, terminal and arguments. Nothing may be open yet.
 * `manyTasks`: its threads share one pool of memory too.
 */
export function beginLean({ manyTasks }: { readonly manyTasks: boolean }): void {
  if (process.execve === undefined || process.execArgv.includes(FLAGS[0] ?? '')) return;
  const args = [process.execPath, ...FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  try {
    process.execve(process.execPath, args, { ...(manyTasks ? MALLOC : {}), ...process.env });
  } catch {
    // Not on this system: then it is not lean.
  }
}
