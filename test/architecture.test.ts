// Who may import whom (the design's section 3). Allowed edges are listed; every other edge fails, so a new one is a decision.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cruise, type ICruiseResult, type IFlattenedRuleSet } from 'dependency-cruiser';

const FOLDERS = ['cli', 'orchestrator', 'agent', 'machines', 'tools', 'llm', 'workers', 'dashboard', 'shared'];

/** Besides itself. llm for cli: choosing a model and the scripted demo are the command line's own business. */
const ARROWS: Record<string, readonly string[]> = {
  cli: ['orchestrator', 'agent', 'dashboard', 'llm', 'shared'],
  orchestrator: ['agent', 'machines', 'tools', 'llm', 'shared'],
  /** Of the tools only what their names and paths say. */
  agent: ['machines', 'tools', 'llm', 'shared'],
  machines: ['shared'],
  tools: ['shared'],
  llm: ['shared'],
  workers: ['agent', 'machines', 'tools', 'llm', 'shared'],
  dashboard: ['orchestrator', 'shared'],
  shared: [],
};

/** Packages that one file owns; its neighbours may name their types. */
const OWNERS: Record<string, string> = {
  bullmq: '^orchestrator/(queue|jobs/job-queue)\\.ts$',
  piscina: '^orchestrator/pool\\.ts$',
  ioredis: '^orchestrator/redis\\.ts$',
  '@anthropic-ai/sdk': '^llm/anthropic[^/]*\\.ts$',
  openai: '^llm/openai[^/]*\\.ts$',
};

const folder = (name: string) => `^${name}/`;
const owned = `^node_modules/(${Object.keys(OWNERS).join('|')})/`;

const ruleSet: IFlattenedRuleSet = {
  allowedSeverity: 'error',
  allowed: [
    ...FOLDERS.map((name) => ({
      from: { path: folder(name) },
      to: { path: [name, ...(ARROWS[name] ?? [])].map(folder) },
    })),
    { from: {}, to: { dependencyTypes: ['core'] } },
    { from: {}, to: { path: '^node_modules/', pathNot: owned } },
    { from: {}, to: { path: owned, dependencyTypes: ['type-only'] } },
    ...Object.entries(OWNERS).map(([name, path]) => ({ from: { path }, to: { path: `^node_modules/${name}/` } })),
  ],
};

/** Edges that are not allowed, as `from -> to`, and how many files were read. */
async function violations(base: string): Promise<{ edges: string[]; read: number }> {
  const { output } = await cruise(
    FOLDERS.filter((name) => existsSync(join(base, name))),
    {
      baseDir: base,
      ruleSet,
      validate: true,
      parser: 'swc',
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
    },
  );
  const result = output as ICruiseResult;
  return {
    edges: result.summary.violations.map(({ from, to }) => `${from} -> ${to}`),
    read: result.modules.filter((module) => !module.coreModule && !module.source.startsWith('node_modules/')).length,
  };
}

test('files import along the arrows of the design only', async () => {
  const { edges, read } = await violations(process.cwd());
  expect(edges).toEqual([]);
  expect(read).toBeGreaterThan(30);
});

test('an import against the arrows, of an owned package or across a cast of types is reported', async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'odin-arrows-')));
  try {
    const files: Record<string, string> = {
      'shared/outcome.ts': "import '../llm/openai.ts';\n",
      'llm/openai.ts': 'export const a = 1;\n',
      'tools/read.ts': "export type { B } from '../orchestrator/queue.ts';\n",
      'orchestrator/queue.ts': "import 'bullmq';\nexport type B = 1;\n",
      'orchestrator/turn.ts':
        "import type { Job } from 'bullmq';\nexport const load = () => import('../workers/heavy.ts');\n",
      'orchestrator/state.ts': "export const load = () => import('bullmq');\n",
      'workers/heavy.ts': "import '../shared/outcome.ts';\nimport 'node:fs';\n",
      'node_modules/bullmq/package.json': '{"name":"bullmq","main":"index.js"}',
      'node_modules/bullmq/index.js': '',
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(base, path)), { recursive: true });
      writeFileSync(join(base, path), text);
    }
    expect((await violations(base)).edges.toSorted()).toEqual([
      'orchestrator/state.ts -> node_modules/bullmq/index.js',
      'orchestrator/turn.ts -> workers/heavy.ts',
      'shared/outcome.ts -> llm/openai.ts',
      'tools/read.ts -> orchestrator/queue.ts',
    ]);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
});
