// package.json and deno.json: names, scripts, what is used. The package manager is that of the nearest lock file.

import { purposeOf } from './command-purpose.ts';
import type { Command, Manifest } from './facts.ts';
import { commandsIn, existing, type Folder, usesOf } from './folder.ts';

const MANAGERS = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
} as const;
type Manager = (typeof MANAGERS)[keyof typeof MANAGERS];

const INSTALL: Readonly<Record<Manager, string>> = {
  npm: 'npm ci',
  pnpm: 'pnpm install --frozen-lockfile',
  yarn: 'yarn install',
  bun: 'bun install',
};

const KNOWN_USES = {
  react: 'React',
  next: 'Next.js',
  vue: 'Vue',
  nuxt: 'Nuxt',
  svelte: 'Svelte',
  '@sveltejs/kit': 'SvelteKit',
  '@angular/core': 'Angular',
  'solid-js': 'Solid',
  express: 'Express',
  fastify: 'Fastify',
  koa: 'Koa',
  hono: 'Hono',
  '@nestjs/core': 'NestJS',
  electron: 'Electron',
  'react-native': 'React Native',
  typescript: 'TypeScript',
  vite: 'Vite',
  webpack: 'webpack',
  rollup: 'Rollup',
  esbuild: 'esbuild',
  turbo: 'Turborepo',
  nx: 'Nx',
  lerna: 'Lerna',
  jest: 'Jest',
  vitest: 'Vitest',
  mocha: 'Mocha',
  '@playwright/test': 'Playwright',
  cypress: 'Cypress',
  prisma: 'Prisma',
  typeorm: 'TypeORM',
  graphql: 'GraphQL',
  ioredis: 'Redis (ioredis)',
  redis: 'Redis',
  bullmq: 'BullMQ',
  pg: 'PostgreSQL',
  mongoose: 'MongoDB',
  xstate: 'XState',
  zod: 'zod',
  commander: 'commander',
  '@biomejs/biome': 'Biome',
  eslint: 'ESLint',
  prettier: 'Prettier',
  oxlint: 'oxlint',
  tailwindcss: 'Tailwind CSS',
} as const;

/** Scripts that npm runs by itself, around others. */
const LIFECYCLE = /^(?:pre|post)(?!view)\w|^(?:prepare|prepack|prepublishOnly|dependencies)$/;

export function readPackageJson(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const json = objectOf(folder.text('package.json'));
  if (!json) return null;
  const own = managerOf(folder);
  const manager = own ?? ancestors.map(managerOf).find((found) => found !== undefined) ?? 'npm';
  const to = commandsIn(folder);
  const scripts = Object.entries(record(json['scripts'])).filter(([name]) => !LIFECYCLE.test(name));
  const commands: Command[] = scripts.map(([name, script]) =>
    to(purposeOf(name), scriptCall(manager, name), string(script)),
  );
  const dependencies = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((key) =>
    Object.keys(record(json[key])),
  );
  const isRoot = ancestors.length === 0;
  if (own !== undefined) commands.unshift(to('install', INSTALL[own]));
  else if (isRoot && dependencies.length > 0) commands.unshift(to('install', 'npm install'));
  const workspaces = Array.isArray(json['workspaces']) || 'packages' in record(json['workspaces']);
  return {
    file: folder.at('package.json'),
    kind: `Node.js (${manager}${workspaces || folder.below.has('pnpm-workspace.yaml') ? ' workspaces' : ''})`,
    name: string(json['name']),
    description: string(json['description']),
    uses: usesOf(dependencies, KNOWN_USES),
    entries: existing(folder, [...strings(json['bin']), ...strings(json['main']), ...strings(json['module'])]),
    commands,
  };
}

export function readDenoJson(folder: Folder): Manifest | null {
  const file = folder.text('deno.json') === undefined ? 'deno.jsonc' : 'deno.json';
  const json = objectOf(folder.text(file));
  if (!json) return null;
  const to = commandsIn(folder);
  return {
    file: folder.at(file),
    kind: 'Deno',
    name: string(json['name']),
    description: string(json['description']),
    uses: [],
    entries: existing(folder, ['main.ts', 'mod.ts', ...strings(json['exports'])]),
    commands: Object.entries(record(json['tasks'])).map(([name, task]) =>
      to(purposeOf(name), `deno task ${name}`, string(task)),
    ),
  };
}

function managerOf(folder: Folder): Manager | undefined {
  for (const [lock, manager] of Object.entries(MANAGERS)) if (folder.below.has(lock)) return manager;
  return undefined;
}

function scriptCall(manager: Manager, name: string): string {
  if (manager === 'npm' && (name === 'test' || name === 'start')) return `npm ${name}`;
  return `${manager} run ${name}`;
}

export function objectOf(text: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text?.replace(/^\ufeff/, '') ?? 'null');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? record(value) : null;
  } catch {
    return null;
  }
}

export const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

export const string = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A string, or the strings of an object. */
const strings = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : Object.values(record(value)).filter((one) => typeof one === 'string');
