// Points where the crash tests kill the process (DURABILITY 15). ODIN_KILL_POINTS says when: `at NAME N` at the N-th passing of one point,
// `seed S PER_MILLION` at any, as the seed's numbers fall. The bundle is built as if the variable were never set, so that nothing of
// this is in it.

const pass = process.env['ODIN_KILL_POINTS'] ? follow(process.env['ODIN_KILL_POINTS'].split(' ')) : null;

/** Kills the process, with no word to anybody, when this passing was chosen. */
export function killPoint(name: string): void {
  pass?.(name);
}

function follow([kind, what = '', figure]: readonly string[]): (name: string) => void {
  const isNamed = kind === 'at';
  let left = Number(figure);
  let state = Number(what) >>> 0;
  return (name) => {
    if (isNamed ? name !== what || --left > 0 : next() * 1e6 >= left) return;
    process.kill(process.pid, 'SIGKILL');
    // The signal is on its way; nothing may happen until it is here.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  };

  /** Numbers in [0, 1), the same for the same seed (mulberry32). */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}
