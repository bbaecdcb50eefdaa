// What the process that runs the project's turns says of itself: its file cache, its locks, its event loop.

import { h } from './dom.js';
import { duration } from './format.js';

const bytes = (n) => (n < 1e6 ? `${Math.round(n / 1e3)} kB` : `${(n / 1e6).toFixed(1)} MB`);

export function showFigures(place, figures) {
  const rows = figures === null ? [['runs', 'no: open one with odin']] : rowsOf(figures);
  place.replaceChildren(...rows.flatMap(([name, value]) => [h('dt', name), h('dd', value)]));
}

function rowsOf({ pid, cache, locks, lagMs, rssBytes }) {
  const hits = cache.hits + cache.segmentHits;
  const asked = hits + cache.misses;
  return [
    ['process', String(pid)],
    ['memory', bytes(rssBytes)],
    ['event loop late (p99)', duration(lagMs.p99)],
    ['files cached', `${cache.entries}, ${bytes(cache.bytes)}`],
    ['cache hits', asked === 0 ? '–' : `${hits} of ${asked} (${Math.round((100 * hits) / asked)}%)`],
    ['out of date, evicted', `${cache.refreshes}, ${cache.evictions}`],
    ['waits for a lock', `${locks.waits}, ${duration(locks.waitedMs)}`],
  ];
}
