// Columns for people: as wide as their widest cell, the last one as long as it is.

import { stripVTControlCharacters } from 'node:util';

export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, width(cell))));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - width(cell)))).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

const width = (cell: string): number => [...stripVTControlCharacters(cell)].length;
