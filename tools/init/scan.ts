// A bounded look at the project for InitTool (SPEC O22): all paths, and the texts of a few files, chosen by what they are. Read through
// the search port, so that the planner is not told of cached files that it has never seen. Links, secrets and ignored files are left out.

import { basename, dirname, join } from 'node:path';
import { cleanText } from '../../shared/clean-text.ts';
import type { ToolContext } from '../../shared/define-tool.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { isSecretFile } from '../protected-paths.ts';
import { isCiFile } from './ci.ts';
import { componentFolders, isMadeUp, mainFiles } from './components.ts';
import { isManifestName } from './manifests.ts';

export interface Scan {
  /** From the root, in order; without dependencies and what was built. */
  readonly paths: readonly string[];
  /** Of the files that were read, their beginning. */
  readonly texts: ReadonlyMap<string, string>;
  readonly limits: readonly string[];
}

type ScanContext = Pick<ToolContext, 'root' | 'search' | 'files' | 'report'>;

const MAX_PATHS = 20_000;
const MAX_NEAR = 2_000;
const MAX_FILES = 60;
const MAX_BYTES = 400 * 1024;
const MAX_FILE = 64 * 1024;
const AT_ONCE = 4;
/** Somebody else's code, and what a build makes, where .gitignore does not say so. */
const NOT_OURS =
  /(?:^|\/)(?:node_modules|bower_components|jspm_packages|vendor|third_party|site-packages|\.venv|venv|__pycache__|\.tox|\.nox|Pods|Carthage|dist|target|build|out|\.next|\.nuxt|coverage|\.gradle|\.terraform|DerivedData|_build|deps|\.git)\//;
const DOCUMENT =
  /^(?:AGENTS|CLAUDE|CONTRIBUTING|ARCHITECTURE|DEVELOPMENT|HACKING)\.md$|^docs?\/(?:architecture|design|overview|development)[\w-]*\.md$/i;

interface Read {
  readonly path: string;
  readonly lines: number;
}

export async function scanProject(ctx: ScanContext, signal: AbortSignal): Promise<Outcome<Scan>> {
  ctx.report('looking at what is there');
  const listed = await ctx.search.glob({ pattern: '**/*', path: ctx.root, limit: MAX_PATHS }, signal);
  if (!listed.ok) return listed;
  const found = new Set(listed.value.files.map(({ path }) => path));
  const isPart = listed.value.total > found.size;
  // The newest are listed; what describes a project may be the oldest in it.
  for (const pattern of isPart ? ['*', '*/*'] : []) {
    const near = await ctx.search.glob({ pattern, path: ctx.root, limit: MAX_NEAR }, signal);
    if (near.ok) for (const { path } of near.value.files) found.add(path);
  }
  const all = [...found].map((path) => path.slice(ctx.root.length + 1));
  const paths = all.filter((path) => !NOT_OURS.test(path)).toSorted();
  const limits = isPart ? [`only ${all.length} of the ${listed.value.total} files were looked at, the newest`] : [];
  const wanted = chooseReads(paths);
  ctx.report(`reading ${Math.min(wanted.length, MAX_FILES)} of ${paths.length} files`);
  const { texts, reached } = await readAll(wanted.slice(0, MAX_FILES), ctx, signal);
  if (signal.aborted)
    return fail('failed', 'timeout', 'Looking through the project took too long. Nothing was written.');
  if (reached) limits.push(`only the first ${MAX_BYTES / 1024} KB of what tells of the project were read`);
  return ok({ paths, texts, limits });
}

/** The files to read, the most telling first. */
function chooseReads(paths: readonly string[]): readonly Read[] {
  const inRoot = paths.filter((path) => !path.includes('/'));
  const manifests = paths.filter((path) => isManifestName(basename(path)) && !isMadeUp(path));
  const depth = (path: string): number => path.split('/').length;
  const inner = manifests
    .filter((path) => path.includes('/'))
    .toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  const folders = componentFolders(paths, manifests.map(folderOf));
  const heads = folders.flatMap((folder) => mainFiles(paths, folder, 2).map((path, nth) => ({ path, nth })));
  const readmes = folders.map((folder) => join(folder, 'README.md')).filter((path) => paths.includes(path));
  const reads: readonly Read[] = [
    ...inRoot.filter((path) => /^readme(?:\.\w+)?$/i.test(path)).map((path) => ({ path, lines: 150 })),
    ...manifests.filter((path) => !path.includes('/')).map((path) => ({ path, lines: 1_500 })),
    ...paths
      .filter(isCiFile)
      .slice(0, 6)
      .map((path) => ({ path, lines: 300 })),
    ...paths
      .filter((path) => DOCUMENT.test(path))
      .slice(0, 4)
      .map((path) => ({ path, lines: 120 })),
    ...inner.slice(0, 20).map((path) => ({ path, lines: 800 })),
    ...heads.filter(({ nth }) => nth === 0).map(({ path }) => ({ path, lines: 30 })),
    ...readmes.slice(0, 8).map((path) => ({ path, lines: 40 })),
    ...heads.filter(({ nth }) => nth > 0).map(({ path }) => ({ path, lines: 30 })),
  ];
  const seen = new Set<string>();
  return reads.filter(({ path }) => !seen.has(path) && !isSecretFile(basename(path)) && seen.add(path));
}

async function readAll(
  reads: readonly Read[],
  ctx: ScanContext,
  signal: AbortSignal,
): Promise<{ readonly texts: ReadonlyMap<string, string>; readonly reached: boolean }> {
  const texts = new Map<string, string>();
  let left = MAX_BYTES;
  for (let at = 0; at < reads.length && left > 0 && !signal.aborted; at += AT_ONCE) {
    const some = reads.slice(at, at + AT_ONCE);
    const found = await Promise.all(some.map((read) => readHead(read, ctx, signal)));
    for (const [i, text] of found.entries()) {
      const path = some[i]?.path;
      if (text === undefined || path === undefined || left <= 0) continue;
      const kept = text.slice(0, Math.min(left, MAX_FILE));
      texts.set(path, kept);
      left -= Buffer.byteLength(kept);
    }
  }
  return { texts, reached: left <= 0 };
}

/** Undefined when it cannot be read as text, or leads elsewhere by now. */
async function readHead({ path, lines }: Read, ctx: ScanContext, signal: AbortSignal): Promise<string | undefined> {
  const real = join(ctx.root, path);
  const target = await ctx.files.resolve(real);
  if (!target.ok || target.value.real !== real || target.value.kind !== 'file') return undefined;
  const found = await ctx.search.grep({ pattern: '', path: real, output: 'content', limit: lines }, signal);
  if (!found.ok || found.value.files.length === 0) return undefined;
  return cleanText(found.value.files.flatMap((file) => file.lines.map(({ text }) => text)).join('\n')).replace(
    /^<U\+FEFF>/,
    '',
  );
}

/** The folder of a path; '' for the root. */
export const folderOf = (path: string): string => (path.includes('/') ? dirname(path) : '');
