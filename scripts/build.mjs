// Bundles Odin for a quick start: dist/<hash>/main.js and its chunks side by side, and the threads' entries in workers/ below, where
// orchestrator/pool.ts looks for them. What is imported lazily stays in chunks of its own.
// A build never touches an older one, which a running Odin may still be loading chunks from; manifest.json names the current one.
// With `--crash` it bundles what the crash scripts start and kill (test/support/crash-bundle.ts): the same code, with its crash points.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { CRASH_BUNDLE } from '../bin/launch.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const forCrashes = process.argv.includes('--crash');
const dist = join(root, forCrashes ? CRASH_BUNDLE : 'dist');
const KEEP_MS = 24 * 60 * 60 * 1000;

/** Packages that find files of their own by path (a worker, a binary, style sheets), or that load native code. */
const external = [
  'fastify',
  '@bull-board/*',
  'prom-client',
  '@vscode/ripgrep',
  'piscina',
  'jsdom',
  '@napi-rs/keyring',
  'msgpackr-extract',
];

/** Its main file hides its imports from bundlers; this one does not. */
const alias = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' };

/** CommonJS code inside the bundle expects these names. */
const banner = [
  "import { createRequire as __createRequire } from 'node:module';",
  'const require = __createRequire(import.meta.url);',
  'const __filename = import.meta.filename, __dirname = import.meta.dirname;',
].join('\n');

/** Processes of tests that are killed, or that many are started of. */
const children = [
  ...['turns', 'owner', 'exec-crash', 'exec-owner', 'files-crash', 'archive'],
  ...['queue-submitter', 'queue-worker', 'redis', 'redis-lock'],
];

const entries = [
  ...(forCrashes
    ? children.map((name) => ({ in: `test/support/${name}-child.ts`, out: `${name}-child` }))
    : [{ in: 'cli/main.ts', out: 'main' }]),
  ...readdirSync(join(root, 'workers'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ in: `workers/${name}`, out: `workers/${name.slice(0, -3)}` }))
    .filter((entry) => /^export default /m.test(readFileSync(join(root, entry.in), 'utf8'))),
];

/**
 * Node finds the named exports of a CommonJS package that is imported with `await import()`; esbuild would leave only `default`.
 * A small module in between re-exports them by the names that Node finds.
 * @type {import('esbuild').Plugin}
 */
const lazyCommonJs = {
  name: 'lazy-commonjs',
  setup(builder) {
    builder.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
      const ours = pluginData === 'seen' || path in alias || path.startsWith('node:');
      if (kind !== 'dynamic-import' || ours) return undefined;
      const resolved = await builder.resolve(path, { kind, resolveDir, importer, pluginData: 'seen' });
      if (resolved.external || !isCommonJs(resolved.path)) return undefined;
      return { path: resolved.path, namespace: 'lazy-commonjs' };
    });
    builder.onLoad({ filter: /./, namespace: 'lazy-commonjs' }, async ({ path }) => {
      const names = Object.keys(await import(pathToFileURL(path).href));
      const named = names.filter((name) => name !== 'default' && name !== 'module.exports').join(', ');
      const from = JSON.stringify(path);
      return { contents: `export { ${named} } from ${from};\nexport { default } from ${from};\n`, resolveDir: root };
    });
  },
};

/** @param {string | Uint8Array} contents */
function sha256(contents) {
  return createHash('sha256').update(contents).digest('hex');
}

/** @param {string} path */
function isCommonJs(path) {
  if (extname(path) !== '.js') return extname(path) === '.cjs';
  const owner = findPackageJSON(pathToFileURL(path));
  return owner === undefined || JSON.parse(readFileSync(owner, 'utf8')).type !== 'module';
}

/**
 * Classes keep their names, which some packages go by. esbuild does it for every function, and for a closure each time it is made: a property
 * of its own, of 260 bytes. A worker with 500 tasks has a quarter of a million of them.
 */
const NAMES_ALL = 'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';
const NAMES_CLASSES =
  'var __name = (target, value) => target.name === value || target.prototype === undefined ? target : __defProp(target, "name", { value, configurable: true });';

const result = await build({
  absWorkingDir: root,
  entryPoints: entries,
  outdir: dist,
  bundle: true,
  splitting: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  alias,
  chunkNames: '[name]-[hash]',
  banner: { js: banner },
  external,
  plugins: [lazyCommonJs],
  keepNames: true,
  // A user's Odin has no crash points.
  define: forCrashes ? {} : { 'process.env.ODIN_KILL_POINTS': 'undefined' },
  legalComments: 'none',
  logLevel: 'error',
}).catch(() => process.exit(1));

// The dashboard's page is served as it is, from beside the code that serves it.
const page = (forCrashes ? [] : readdirSync(join(root, 'dashboard', 'page'))).map((file) => ({
  input: `dashboard/page/${file}`,
  output: `page/${file}`,
  contents: readFileSync(join(root, 'dashboard', 'page', file)),
}));

const outputs = result.outputFiles.map(({ path, text }) => ({
  path,
  contents: text.replace(NAMES_ALL, NAMES_CLASSES),
}));
if (!outputs.some(({ contents }) => contents.includes(NAMES_CLASSES))) {
  throw new Error('esbuild has another way to keep names now: correct NAMES_ALL in scripts/build.mjs.');
}

const name = createHash('sha256')
  .update(outputs.map(({ path, contents }) => `${relative(dist, path)} ${sha256(contents)}`).join('\n'))
  .update(page.map(({ output, contents }) => `${output} ${sha256(contents)}`).join('\n'))
  .digest('hex')
  .slice(0, 12);
if (!existsSync(join(dist, name))) {
  const unfinished = join(dist, `unfinished-${process.pid}`);
  for (const file of outputs) {
    const path = join(unfinished, relative(dist, file.path));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, file.contents);
  }
  mkdirSync(join(unfinished, 'page'), { recursive: true });
  for (const { output, contents } of page) writeFileSync(join(unfinished, output), contents);
  try {
    renameSync(unfinished, join(dist, name));
  } catch (error) {
    // Another build of the same sources was faster.
    if (!existsSync(join(dist, name))) throw error;
    rmSync(unfinished, { recursive: true, force: true });
  }
}

// Packages are covered by npm's own record of them: it changes with every install.
const ours = Object.keys(result.metafile.inputs).filter((path) => !path.split(/[/\\]/).includes('node_modules'));
const inputs = [
  ...ours,
  ...page.map(({ input }) => input),
  'package.json',
  'scripts/build.mjs',
  'node_modules/.package-lock.json',
].map((path) => {
  const { size, mtimeMs } = statSync(join(root, path));
  return [path.split(sep).join('/'), size, mtimeMs];
});
const manifest = join(dist, 'manifest.json');
const unnamed = `${manifest}.${process.pid}`;
writeFileSync(unnamed, `${JSON.stringify({ build: name, inputs })}\n`);
renameSync(unnamed, manifest);

for (const entry of readdirSync(dist, { withFileTypes: true })) {
  const path = join(dist, entry.name);
  if (entry.isDirectory() && entry.name !== name && Date.now() - statSync(path).mtimeMs > KEEP_MS) {
    rmSync(path, { recursive: true, force: true });
  }
}
