// Grep (SPEC O13): searches contents with ripgrep, and reads line ranges as the flows of the source documents do. What it has
// shown enters the file cache. How results are worded is grep-text.ts's.

import { resolve } from 'node:path';
import * as z from 'zod';
import { defineTool, type ToolContext, type ToolResponse } from '../shared/define-tool.ts';
import type { ResolvedPath } from '../shared/files-port.ts';
import { type Outcome, ok } from '../shared/outcome.ts';
import type { GrepFile, GrepQuery, GrepResult } from '../shared/search-port.ts';
import { grepText } from './grep-text.ts';
import { readPage } from './read-lines.ts';
import { displayPath, existingTarget, gateRead } from './read-target.ts';

const DEFAULT_LIMIT = 250;
const MAX_LIMIT = 5_000;
/** A line range is cut out of all matches of its file, which is asked for so many lines. */
const MAX_FILE_LINES = 50_000;

/** Files whose versions the result names, so that they are known to a process that resumes the session. */
const MOST_SEEN = 32;

/** Versions by real path. */
type Seen = Readonly<Record<string, string>>;

const lines = (what: string) => z.int().min(0).max(1000).optional().describe(what);

const schema = z.strictObject({
  pattern: z.string().describe('Regex; "" with a file reads its lines'),
  path: z.string().optional().describe('File or folder; default: project root'),
  glob: z.string().max(1000).optional().describe('Only these files, e.g. "*.{ts,tsx}", "!*.test.ts"'),
  type: z.string().optional().describe('File type: js, py, rust, …'),
  output_mode: z
    .enum(['content', 'files_with_matches', 'count'])
    .optional()
    .describe('Default: content for a file or with -A/-B/-C'),
  '-n': z.boolean().optional().describe('Line numbers; default true'),
  '-i': z.boolean().optional().describe('Ignore case'),
  '-A': lines('Lines after'),
  '-B': lines('Lines before'),
  '-C': lines('Lines around'),
  multiline: z.boolean().optional().describe('Match across lines'),
  head_limit: z.int().min(1).max(MAX_LIMIT).optional().describe('Default 250'),
  offset: z.int().min(0).max(1e9).optional().describe('File: first line. Folder: results to skip'),
  limit: z.int().min(1).max(MAX_LIMIT).optional().describe('File: lines from offset on'),
});
type Args = z.infer<typeof schema>;

export const grepTool = defineTool({
  name: 'Grep',
  version: '1',
  description:
    'Searches file contents with ripgrep; .gitignore respected, hidden files included. Lines shown as content are cached. ' +
    'Escape literal braces: interface\\{\\}.',
  schema,
  effect: 'read',
  touches: (args, root) => [{ path: resolve(root, args.path ?? '.'), access: 'read' }],
  preHook: (args, ctx) => gateRead(args.path ?? '.', ctx),
  async execute(args, ctx) {
    const target = await existingTarget(args.path ?? '.', ctx);
    if (!target.ok) return target;
    const isFile = target.value.kind === 'file';
    const output = args.output_mode ?? (isFile || hasContext(args) ? 'content' : 'files_with_matches');
    if (isFile && output === 'content' && matchesEverything(args.pattern)) {
      return readPage(
        target.value.real,
        { offset: args.offset || undefined, limit: args.limit ?? args.head_limit },
        ctx,
      );
    }
    const found = await search(args, target.value, output, ctx);
    if (!found.ok) return found;
    const seen = output === 'content' ? await cache(args, found.value.files, isFile, ctx) : {};
    return ok(respond(args, found.value, output, target.value, seen, ctx));
  },
});

const hasContext = (args: Args): boolean => Boolean(args['-A'] || args['-B'] || args['-C']);

/** Such a pattern asks for the lines themselves. */
const matchesEverything = (pattern: string): boolean => /^\^?(?:\.|\.\*|\.\+)?\$?$/.test(pattern);

async function search(
  args: Args,
  target: ResolvedPath,
  output: GrepQuery['output'],
  ctx: ToolContext,
): Promise<Outcome<GrepResult>> {
  const limit = args.limit ?? args.head_limit ?? DEFAULT_LIMIT;
  const query = {
    pattern: args.pattern,
    path: target.real,
    output,
    before: args['-B'] ?? args['-C'] ?? 0,
    after: args['-A'] ?? args['-C'] ?? 0,
    ignoreCase: args['-i'] ?? false,
    multiline: args.multiline ?? false,
    ...(args.glob ? { glob: args.glob } : {}),
    ...(args.type ? { type: args.type } : {}),
  };
  const inRange = target.kind === 'file' && (args.offset !== undefined || args.limit !== undefined);
  if (!inRange || output !== 'content')
    return ctx.search.grep({ ...query, limit, skip: inRange ? 0 : (args.offset ?? 0) }, ctx.signal);
  const all = await ctx.search.grep({ ...query, limit: MAX_FILE_LINES }, ctx.signal);
  return all.ok ? ok(withinRange(all.value, args)) : all;
}

/** The lines of one file between offset and offset + limit, the first `head_limit` of them. */
function withinRange(found: GrepResult, args: Args): GrepResult {
  const from = args.offset ?? 1;
  const to = args.limit === undefined ? Number.POSITIVE_INFINITY : from + args.limit;
  const files: GrepFile[] = [];
  let total = 0;
  for (const file of found.files) {
    const inside = file.lines.filter((line) => line.line >= from && line.line < to);
    total = inside.length;
    const shown = inside.slice(0, args.head_limit ?? DEFAULT_LIMIT);
    if (shown.length > 0) files.push({ ...file, lines: shown, matches: shown.filter((line) => line.isMatch).length });
  }
  const truncated = total > (args.head_limit ?? DEFAULT_LIMIT) || !found.complete;
  return { ...found, files, total, truncated };
}

/**
 * Remembers what was shown: of one file searched on its own the whole, since all of it was read; else, or when -A, -B, -C or a
 * range set the bounds, the lines themselves. Returns the versions that were shown, by path.
 */
async function cache(args: Args, files: readonly GrepFile[], isFile: boolean, ctx: ToolContext): Promise<Seen> {
  const [first] = files;
  const bounded = hasContext(args) || args.offset !== undefined || args.limit !== undefined;
  if (isFile && first && !bounded) {
    const whole = await ctx.files.read(first.path);
    if (whole.ok) return { [first.path]: whole.value.version };
  }
  const versions = await Promise.all(
    files.map(async (file) => {
      const shown = file.lines.filter((line) => !line.inexact).map(({ line, text }) => ({ line, text }));
      return [file.path, await ctx.files.remember(file.path, shown)] as const;
    }),
  );
  const known = versions.filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(known.slice(0, MOST_SEEN));
}

function respond(
  args: Args,
  found: GrepResult,
  output: GrepQuery['output'],
  target: ResolvedPath,
  seen: Seen,
  ctx: ToolContext,
): ToolResponse {
  const folder = displayPath(target.real, ctx.root);
  const one = output === 'content' ? 'line' : 'file';
  const about = found.complete ? '' : 'more than ';
  const numbers = args['-n'] ?? true;
  return {
    text: grepText(found, {
      output,
      pattern: args.pattern,
      folder,
      root: ctx.root,
      numbers,
      isFile: target.kind === 'file',
      skip: args.offset ?? 0,
    }),
    description: `Found ${about}${found.total} ${found.total === 1 ? one : `${one}s`} for ${JSON.stringify(args.pattern.slice(0, 80))} in ${folder}`,
    data: {
      total: found.total,
      truncated: found.truncated,
      files: found.files.map((file) => file.path),
      ...(Object.keys(seen).length === 0 ? {} : { seen }),
    },
  };
}
