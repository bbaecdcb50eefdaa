// The random choices of tests: seeded, printed, repeatable.

/** The seed of random tests: fixed, so that a run is like the one before; ODIN_SEED sets it, `random` draws one. Printed. */
export function printedSeed(name: string): number {
  const wanted = process.env['ODIN_SEED'] ?? '20261120';
  const seed = wanted === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(wanted);
  process.stderr.write(`${name}: ODIN_SEED=${seed}\n`);
  return seed;
}

/** A small generator of numbers in [0, below), the same for the same seed (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
