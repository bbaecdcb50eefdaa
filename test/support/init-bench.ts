// A project folder with everything InitTool reaches, real but for the lesser model, which says what the test wants or nothing.

import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createFiles } from '../../orchestrator/files/files.ts';
import type { Gate, ToolContext, ToolResponse } from '../../shared/define-tool.ts';
import type { Json } from '../../shared/json.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { SmallPrompt } from '../../shared/ports.ts';
import { initTool } from '../../tools/init-tool.ts';
import { memoryBlobs } from './files-bench.ts';
import { openReadBench, type ReadBench } from './read-bench.ts';

export interface InitBench extends Pick<ReadBench, 'root' | 'write' | 'close'> {
  /** An empty project, a lesser model that fails, and nothing told or asked. */
  clear(): Promise<void>;
  put(files: Readonly<Record<string, string>>): Promise<void>;
  odinMd(): string;
  /** What the lesser model is asked. */
  readonly asked: SmallPrompt[];
  /** What it answers from now on; null: it fails. */
  says(answer: string | null): void;
  /** The whole project is listed only up to so many files, as if it had very many. */
  listsOnly(files: number): void;
  /** What the tool told on its way. */
  readonly reported: string[];
  readonly intents: Json[];
  gate(args?: Json): Promise<Gate<Json>>;
  /** Gate, then `between`, then execution, as if every question were allowed. */
  init(args?: Json, between?: () => Promise<unknown>): Promise<Outcome<ToolResponse>>;
}

export async function openInitBench(): Promise<InitBench> {
  const bench = await openReadBench();
  const asked: SmallPrompt[] = [];
  const reported: string[] = [];
  const intents: Json[] = [];
  let answer: string | null = null;
  let mostFiles = Number.POSITIVE_INFINITY;
  const context = (): ToolContext => ({
    ...bench.ctx,
    files: createFiles({ root: bench.root, blobs: memoryBlobs() }).portFor(),
    search: {
      ...bench.ctx.search,
      glob: (query, signal) =>
        bench.ctx.search.glob(
          query.pattern === '**/*' ? { ...query, limit: Math.min(query.limit, mostFiles) } : query,
          signal,
        ),
    },
    report: (text) => void reported.push(text),
    intend: async (intent) => void intents.push(intent),
    model: {
      async complete(prompt) {
        asked.push(prompt);
        return answer === null ? fail('transient', 'overloaded', 'No model today.') : ok(answer);
      },
    },
  });
  const parse = (args: Json) => {
    const call = initTool.parse(JSON.stringify(args));
    if (!call.ok) throw new Error(call.failure.message);
    return call.value;
  };
  return {
    root: bench.root,
    async clear() {
      await rm(bench.root, { recursive: true, force: true });
      await mkdir(bench.root);
      answer = null;
      mostFiles = Number.POSITIVE_INFINITY;
      for (const list of [asked, reported, intents]) list.length = 0;
    },
    async put(files) {
      await Promise.all(Object.entries(files).map(([name, text]) => bench.write(name, text)));
    },
    odinMd: () => readFileSync(join(bench.root, 'ODIN.md'), 'utf8'),
    write: (name, content) => bench.write(name, content),
    close: () => bench.close(),
    asked,
    reported,
    intents,
    listsOnly(files) {
      mostFiles = files;
    },
    says(text) {
      answer = text;
    },
    gate: (args = {}) => parse(args).gate(context()),
    async init(args = {}, between) {
      const call = parse(args);
      const ctx = context();
      const gate = await call.gate(ctx);
      await between?.();
      return gate.verdict === 'deny' ? fail('refused', gate.code, gate.message) : call.run(ctx);
    },
  };
}
