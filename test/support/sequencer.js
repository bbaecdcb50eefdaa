// In which order jest runs the test files: what takes longest begins first. Of a machine that runs them for the first time jest knows
// no times and goes by the size of the files: a long one whose file is small would run alone at the end.

import { statSync } from 'node:fs';

/** Longest first; only its order counts. */
const LONG = [
  'crash/slices',
  'orchestrator/faults',
  'orchestrator/agents/threads',
  'orchestrator/frozen-owner',
  'orchestrator/owners',
  'cli/run',
  'cli/init',
  'cli/login',
  'cli/trust',
  'cli/questions',
  'setup',
  'orchestrator/queue',
  'orchestrator/web/web',
  'orchestrator/files/undo',
  'orchestrator/quarantine',
  'orchestrator/batch/kill-workers',
  'orchestrator/agents/remote-kill',
  'orchestrator/long-session',
  'dashboard/page',
];

/** @typedef {{ readonly path: string }} TestFile */

export default class LongestFirst {
  /** @template {TestFile} T @param {readonly T[]} tests */
  sort(tests) {
    const sized = tests.map((test) => ({ test, rank: rankOf(test.path), size: statSync(test.path).size }));
    return sized.sort((a, b) => a.rank - b.rank || b.size - a.size).map(({ test }) => test);
  }

  /** @template {TestFile} T @param {readonly T[]} tests @param {{ shardIndex: number, shardCount: number }} options */
  shard(tests, { shardIndex, shardCount }) {
    return tests.filter((_, n) => n % shardCount === shardIndex - 1);
  }

  /** @template {TestFile} T @param {readonly T[]} tests */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

/** @param {string} path */
function rankOf(path) {
  const at = LONG.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
  return at === -1 ? LONG.length : at;
}
