// How the command line opens an Odin.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const CLI = new URL('../../cli/', import.meta.url).pathname;

test('DURABILITY 15.15: every command and the interface open Odin in one place, which says how a message that kills its process runs alone', () => {
  const opens = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && /\bopenOdin\(/.test(readFileSync(join(CLI, path), 'utf8')),
  );
  expect(opens).toEqual(['place.ts']);
  expect(readFileSync(join(CLI, 'place.ts'), 'utf8')).toMatch(/openOdin\(\{.*\balone\b/);
});
