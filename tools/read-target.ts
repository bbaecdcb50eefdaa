// Where a reading tool's path leads, and whether it may go there. Shared by LS, Grep, Glob and ReadFile, so that all judge
// alike (SPEC O23): outside the project and secret files are asked for.

import { relative } from 'node:path';
import type { Gate, ToolContext } from '../shared/define-tool.ts';
import type { ResolvedPath } from '../shared/files-port.ts';
import { fail, type Outcome } from '../shared/outcome.ts';
import { pathGate } from './path-policy.ts';

/** The gate of a path that is about to be read. */
export async function gateRead(path: string, ctx: ToolContext): Promise<Gate<never>> {
  const resolved = await ctx.files.resolve(path);
  if (!resolved.ok) return { verdict: 'deny', code: resolved.failure.code, message: resolved.failure.message };
  return pathGate('read', resolved.value, ctx.root, ctx.mode);
}

/** The path resolved again, for a folder or file that is there; a missing one fails with names that are close. */
export async function existingTarget(path: string, ctx: ToolContext): Promise<Outcome<ResolvedPath>> {
  const resolved = await ctx.files.resolve(path);
  if (!resolved.ok || resolved.value.kind !== 'missing') return resolved;
  return missing(resolved.value, ctx);
}

/** A path as the model should use it: relative to the project's root when inside. */
export function displayPath(path: string, root: string): string {
  if (path === root) return '.';
  return path.startsWith(`${root}/`) ? relative(root, path) : path;
}

async function missing(target: ResolvedPath, ctx: ToolContext): Promise<Outcome<never>> {
  const near = target.inside ? await similarPaths(target.real, ctx) : [];
  const advice = near.length
    ? `Did you mean ${near.map((path) => displayPath(path, ctx.root)).join(', ')}?`
    : 'Look for it with Glob or LS.';
  return fail('failed', 'not_found', `${displayPath(target.real, ctx.root)} does not exist. ${advice}`);
}

/** Files of the same name elsewhere in the project, and close names in the same folder. */
async function similarPaths(real: string, ctx: ToolContext): Promise<readonly string[]> {
  const cut = real.lastIndexOf('/');
  const [folder, name] = [real.slice(0, cut) || '/', real.slice(cut + 1)];
  const [siblings, namesakes] = await Promise.all([
    ctx.search.list({ path: folder, ignore: [], limit: 1_000 }),
    ctx.search.glob({ pattern: `**/${name.replace(/[*?[\]{}\\!]/g, '\\$&')}`, path: ctx.root, limit: 3 }, ctx.signal),
  ]);
  const names = siblings.ok ? siblings.value.entries.map((entry) => entry.name) : [];
  const near = names.filter((candidate) => isNear(candidate, name)).slice(0, 3);
  const same = namesakes.ok ? namesakes.value.files.map((file) => file.path) : [];
  return [...new Set([...near.map((candidate) => `${folder}/${candidate}`), ...same])].slice(0, 5);
}

/** The same letters in another case or with another extension, one in the other, or at most two letters apart. */
function isNear(a: string, b: string): boolean {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()];
  const [stemX, stemY] = [x.replace(/\.[^.]+$/, ''), y.replace(/\.[^.]+$/, '')];
  if (x === y || stemX === stemY) return true;
  if (stemX.length > 3 && stemY.length > 3 && (stemX.includes(stemY) || stemY.includes(stemX))) return true;
  return Math.abs(x.length - y.length) <= 2 && y.length > 3 && distance(x, y) <= 2;
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
