// A project folder on disk with everything the reading tools reach: the real files, the real search, the real threads.

import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { createFiles } from '../../orchestrator/files/files.ts';
import { type HeavyPool, openHeavyPool } from '../../orchestrator/pool.ts';
import { openSearch } from '../../orchestrator/search.ts';
import type { Gate, Tool, ToolContext, ToolResponse } from '../../shared/define-tool.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import { fail, type Outcome } from '../../shared/outcome.ts';
import { noCommands } from './no-commands.ts';
import { NO_WEB } from './no-web.ts';

export interface ReadBench {
  readonly root: string;
  readonly ctx: ToolContext;
  readonly pool: HeavyPool;
  /** Writes a file below the root, folders as needed; returns its absolute path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  run(tool: Tool, args: Json, more?: Partial<ToolContext>): Promise<Outcome<ToolResponse>>;
  /** Runs and returns the text; throws when it fails. */
  text(tool: Tool, args: Json): Promise<string>;
  gate(tool: Tool, args: Json, mode?: Mode): Promise<Gate<Json>>;
  close(): Promise<void>;
}

export async function openReadBench(): Promise<ReadBench> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'odin-read-')));
  const root = join(base, 'project');
  await mkdir(root);
  const pool = openHeavyPool();
  const ctx: ToolContext = {
    root,
    mode: 'edit',
    editValidation: 'never',
    op: '1.1.1',
    files: createFiles({ root, blobs: openBlobs(base) }).portFor(),
    search: openSearch(pool),
    web: NO_WEB,
    model: { complete: () => Promise.resolve(fail('failed', 'none', 'Reading needs no model.')) },
    signal: new AbortController().signal,
    todos: () => [],
    commandRules: () => ({ allowed: [], forbidden: [] }),
    exec: noCommands,
    report: () => undefined,
    intend: () => Promise.reject(new Error('A reading tool has no intents.')),
  };
  const parse = (tool: Tool, args: Json) => {
    const call = tool.parse(JSON.stringify(args));
    if (!call.ok) throw new Error(call.failure.message);
    return call.value;
  };
  const run = (tool: Tool, args: Json, more: Partial<ToolContext> = {}) => parse(tool, args).run({ ...ctx, ...more });
  return {
    root,
    ctx,
    pool,
    run,
    async write(name, content) {
      const path = join(root, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      return path;
    },
    async text(tool, args) {
      const outcome = await run(tool, args);
      if (!outcome.ok) throw new Error(outcome.failure.message);
      return outcome.value.text;
    },
    gate: (tool, args, mode = 'edit') => parse(tool, args).gate({ ...ctx, mode }),
    async close() {
      await pool.close();
      await rm(base, { recursive: true, force: true });
    },
  };
}
