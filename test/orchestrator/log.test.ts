// The log file: off by default, JSON lines, scrubbed, for the user alone.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { openLog } from '../../orchestrator/log.ts';
import { createScrub } from '../../shared/scrub.ts';

const home = mkdtempSync(join(tmpdir(), 'odin-log-'));
const file = join(home, 'logs', 'odin.log');
const scrub = createScrub({});
afterEach(() => rmSync(join(home, 'logs'), { recursive: true, force: true }));

test('E16: without ODIN_LOG nothing is written', () => {
  openLog(home, false, scrub).log('said', {});
  expect(existsSync(join(home, 'logs'))).toBe(false);
});

test('E16: a line is JSON, without secrets at any depth, in a file that only the user can read', async () => {
  const secret = ['ghp', '_', 'A1b2'.repeat(9)].join('');
  const { log, flushed } = openLog(home, true, scrub);
  log(`token ${secret}`, { error: { cause: [`with ${secret}`] } });
  await flushed();
  const line = JSON.parse(readFileSync(file, 'utf8').trim()) as { readonly msg: string };
  expect(JSON.stringify(line)).not.toContain(secret);
  expect(line.msg).toContain('token');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
