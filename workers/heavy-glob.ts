// Glob's work in a heavy thread: `rg --files` lists, this asks for the times while it does, and keeps the newest.

import { lstatSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { FoundFile, GlobQuery, GlobResult } from '../shared/search-port.ts';
import { anchoredFilter } from './heavy-file-filter.ts';
import { ripgrep } from './heavy-ripgrep.ts';

/** One processor is left to this thread, which asks for the times as fast as ripgrep lists. */
const THREADS = Math.min(12, Math.max(1, availableParallelism() - 1));

export async function glob(query: GlobQuery, signal: AbortSignal): Promise<Outcome<GlobResult>> {
  const filter = anchoredFilter(query.path, query.pattern);
  const { cwd } = filter;
  if (cwd === undefined) return ok({ files: [], total: 0, warnings: [] });
  const newest = newestOf(query.limit);
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`;
  const end = await ripgrep({
    cwd,
    args: ['--files', '--null', `--threads=${THREADS}`, ...filter.args, '.'],
    separator: '\0',
    signal,
    onRecord(record) {
      const relative = record.slice(2);
      if (!filter.keep(relative)) return true;
      const path = folder + relative;
      const mtimeMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (mtimeMs !== undefined) newest.add(path, mtimeMs);
      return true;
    },
  });
  if (!end.ok) return end.failure.kind === 'invalid' ? badGlob(query.pattern, end.failure.message) : end;
  return ok({ files: newest.files(), total: newest.total(), warnings: end.value.warnings });
}

const badGlob = (pattern: string, why: string) =>
  fail('invalid', 'bad_glob', `The glob ${JSON.stringify(pattern)} is not valid: ${why}. Correct it and call again.`);

/** Keeps the newest `limit` of any number of files in bounded memory; what is older than those is not even kept for a moment. */
function newestOf(limit: number) {
  let kept: FoundFile[] = [];
  let total = 0;
  let oldestMs = Number.NEGATIVE_INFINITY;
  const cut = () => {
    kept = kept.sort(newestFirst).slice(0, limit);
    if (kept.length === limit) oldestMs = kept.at(-1)?.mtimeMs ?? Number.POSITIVE_INFINITY;
  };
  return {
    add(path: string, mtimeMs: number) {
      total++;
      if (mtimeMs < oldestMs) return;
      kept.push({ path, mtimeMs });
      if (kept.length > 1_000 + 2 * limit) cut();
    },
    files(): readonly FoundFile[] {
      cut();
      return kept;
    },
    total: () => total,
  };
}

const newestFirst = (a: FoundFile, b: FoundFile): number =>
  b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : Number(a.path > b.path));
