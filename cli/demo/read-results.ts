// What the demo's scripted model understands of the tools' results: it reads the same texts that a real model gets, and nothing else.

export interface Folder {
  readonly path: string;
  readonly entries: number;
  readonly files: readonly string[];
}

export interface FoundFiles {
  readonly total: number;
  readonly paths: readonly string[];
}

export interface Excerpt {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface FoundLines {
  /** Grep's own words: "40 lines in 12 files, of 180". */
  readonly count: string;
  readonly excerpts: readonly Excerpt[];
}

/** LS: `/folder (3 entries):`, then `  name/` or `  name  1.2 KB`. */
export function readFolder(text: string): Folder {
  const [head = '', ...rows] = text.split('\n');
  const [, path = '', entries = '0'] = /^(.*?)(?: \((\d+) entries.*\):| is empty.*)$/.exec(head) ?? [];
  const files = rows
    .map((row) => /^ {2}(.+?) {2}\S+ [KM]?B(?: .*)?$/.exec(row)?.[1])
    .filter((name) => name !== undefined);
  return { path, entries: Number(entries), files };
}

/** Glob: `3 files, newest first:`, then one path a line, notes in brackets. */
export function readFoundFiles(text: string): FoundFiles {
  const [head = '', ...rows] = text.split('\n');
  const total = Number(/^(\d+) files?,/.exec(head)?.[1] ?? 0);
  return { total, paths: total === 0 ? [] : rows.filter((row) => row !== '' && !row.startsWith('(')) };
}

/** Grep with content: a header, then blocks of a path and its `12:text` lines. */
export function readFoundLines(text: string): FoundLines {
  const [head = '', ...rows] = text.split('\n');
  const excerpts: Excerpt[] = [];
  let path: string | null = null;
  for (const row of rows) {
    const [, line, found] = /^(\d+):(.*)$/.exec(row) ?? [];
    if (line === undefined) path = row === '' || row.startsWith('(') ? null : (path ?? row);
    else if (path !== null && (found ?? '').trim() !== '')
      excerpts.push({ path, line: Number(line), text: found ?? '' });
  }
  return { count: head.replace(/(?:\. .*|:)$/, ''), excerpts };
}

/** ReadFile: `  12→text` lines. Null when it could not be read; then the text says why. */
export function readLines(path: string, text: string): readonly Excerpt[] | null {
  const rows = text.split('\n').map((row) => /^ *(\d+)→(.*)$/.exec(row));
  const excerpts = rows
    .filter((match) => match !== null)
    .map(([, line, found]) => ({ path, line: Number(line), text: found ?? '' }));
  return excerpts.length === 0 && !text.endsWith(' is empty.') ? null : excerpts;
}
