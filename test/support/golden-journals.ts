// The golden journals as they are read: like any old journal, lifted to the shape of today.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { upcast } from '../../orchestrator/journal-upcast.ts';
import type { Journaled } from '../../shared/events.ts';
import type { JsonObject } from '../../shared/json.ts';

export const GOLDEN_FOLDER = join(import.meta.dirname, '..', 'golden');

/** What the folds make of each journal, by the version of the folds. */
export interface Hashes {
  readonly folds: number;
  readonly states: Record<string, string>;
}

/** Events with inline payloads. The version of each is in the claim of its epoch. */
export function readGolden(name: string): readonly Journaled[] {
  const lines = readFileSync(join(GOLDEN_FOLDER, `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  let version = 1;
  return lines.map((line) => {
    const { id, event } = JSON.parse(line) as { readonly id: string; readonly event: JsonObject };
    if (event['type'] === 'claim') version = Number(event['journal']);
    return { id, event: upcast(event, version) };
  });
}

export const goldenNames = (): readonly string[] =>
  readdirSync(GOLDEN_FOLDER)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => basename(file, '.jsonl'))
    .toSorted();

export const readHashes = (): Hashes => JSON.parse(readFileSync(join(GOLDEN_FOLDER, 'hashes.json'), 'utf8')) as Hashes;
