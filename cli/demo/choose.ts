// What the demo's scripted model decides to look for, from the names it was shown: pure, and the same for the same folder.

import { basename, extname } from 'node:path';
import type { FoundFiles, FoundLines } from './read-results.ts';

/** How a definition begins, by kind of file. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  ts: '^(export )?(default )?(async )?(function|class|interface|const) \\w+',
  tsx: '^(export )?(default )?(async )?(function|class|interface|const) \\w+',
  js: '^(export |module\\.|exports\\.)?(default )?(async )?(function|class|const|var) \\w+',
  mjs: '^(export )?(default )?(async )?(function|class|const) \\w+',
  cjs: '^(async )?(function|class|const|var) \\w+',
  py: '^(async )?(def|class) \\w+',
  rs: '^(pub )?(fn|struct|enum|trait) \\w+',
  go: '^(func|type) ',
  java: '(class|interface|enum|record) \\w+',
  kt: '^(class|fun|object|interface) \\w+',
  cs: '(class|interface|struct|record) \\w+',
  c: '^\\w[\\w *]+\\(',
  h: '^(#define|typedef|struct|\\w[\\w *]+\\()',
  cc: '^(class|struct|\\w[\\w:<>*& ]+\\()',
  cpp: '^(class|struct|\\w[\\w:<>*& ]+\\()',
  rb: '^ *(def|class|module) ',
  php: '(function|class) \\w+',
  swift: '(func|class|struct|enum) \\w+',
  sh: '^(\\w+ *\\(\\)|function )',
  lua: '^(local )?function ',
  ex: '^ *(defmodule|def) ',
  hs: '^\\w+ ::',
  sql: '(?i)^create ',
  md: '^#+ ',
  rst: '^\\w',
};

/** What files say about their own project. */
export const SELF_PATTERN = '^# \\S|^ {0,4}"(name|description)" *:|^(name|description) *=|^module ';
const SELF_FILES = [
  'package.json',
  'pyproject.toml',
  'Cargo.toml',
  'go.mod',
  'composer.json',
  'README.md',
  'readme.md',
  'README',
];

const BINARY = new Set(
  'png jpg jpeg gif webp ico bmp pdf zip gz tgz xz bz2 7z jar class so o a dll exe wasm woff woff2 ttf otf eot mp3 mp4 mov avi bin dat db sqlite pyc lock map'.split(
    ' ',
  ),
);

export interface Search {
  /** Files of this kind are searched; null: all files. */
  readonly kind: string | null;
  readonly pattern: string;
}

/** The kind of file to search and what a definition looks like in it. */
export function chooseSearch({ paths }: FoundFiles): Search {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(kindOf(path), (counts.get(kindOf(path)) ?? 0) + 1);
  const ranked = [...counts].filter(([kind]) => DEFINITIONS[kind] !== undefined).toSorted((a, b) => b[1] - a[1]);
  const kind = (ranked.find(([name]) => name !== 'md' && name !== 'rst') ?? ranked[0])?.[0];
  const pattern = kind === undefined ? undefined : DEFINITIONS[kind];
  return kind === undefined || pattern === undefined ? { kind: null, pattern: '\\w{3,}' } : { kind, pattern };
}

/** At most two files of the root in which a project says what it is. */
export function chooseSelfFiles(files: readonly string[]): readonly string[] {
  return SELF_FILES.filter((name) => files.includes(name)).slice(0, 2);
}

/** The two files to read, and where to begin: those with the most hits, else whatever looks like text. */
export function chooseReads(
  found: FoundLines,
  { paths }: FoundFiles,
): readonly { readonly path: string; readonly from: number }[] {
  const hits = new Map<string, { count: number; first: number }>();
  for (const { path, line } of found.excerpts) {
    const hit = hits.get(path);
    hits.set(path, { count: (hit?.count ?? 0) + 1, first: hit?.first ?? line });
  }
  const searched = [...hits]
    .toSorted((a, b) => b[1].count - a[1].count)
    .map(([path, { first }]) => ({ path, from: first }));
  const others = paths
    .filter((path) => !hits.has(path) && !BINARY.has(kindOf(path)))
    .map((path) => ({ path, from: 1 }));
  const last = paths.filter((path) => BINARY.has(kindOf(path))).map((path) => ({ path, from: 1 }));
  return [...searched, ...others, ...last].slice(0, 2);
}

const kindOf = (path: string): string => extname(basename(path)).slice(1).toLowerCase();
