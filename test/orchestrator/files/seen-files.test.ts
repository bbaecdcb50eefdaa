import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedCall, ScriptedTurn } from '../../../llm/scripted/script.ts';
import { noteSeenFiles, type SeenFiles } from '../../../orchestrator/files/seen-files.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { withWorld } from '../../support/odin-world.ts';

const call = (name: string, args: JsonObject): ScriptedCall => ({ name, args });
const edit = (file: string) => call('EditTool', { file_path: file, old_string: 'two', new_string: 'TWO' });
const write = (file: string) => call('WriteFile', { file_path: file, content: 'whole\n' });

const FIRST: readonly ScriptedCall[] = [
  call('ReadFile', { file_path: 'whole.txt' }),
  call('ReadFile', { file_path: 'part.txt', offset: 1, limit: 2 }),
  call('Grep', { pattern: 'two', path: '.', glob: 'found*.txt', output_mode: 'content' }),
  call('ReadFile', { file_path: 'outside.txt' }),
  write('made.txt'),
];
const SECOND = [
  ...[edit('whole.txt'), edit('part.txt'), edit('found.txt'), write('made.txt')],
  ...[edit('unread.txt'), write('outside.txt')],
];

test('E9, O16: what was read, found or written before a restart need not be read again to be changed; what was not, and what has changed since, must', async () => {
  const lines = 'one\ntwo\nthree\nfour\n';
  const files = ['whole', 'part', 'found', 'outside', 'unread'].map((name) => [`${name}.txt`, lines] as const);
  const script = ({ stepOfMessage, userText }: ScriptedTurn): ScriptedAnswer =>
    stepOfMessage > 0 ? { text: 'Done.' } : { toolCalls: userText.includes('first') ? FIRST : SECOND };
  await withWorld({ script, files: Object.fromEntries(files) }, async (world) => {
    const permission = { mode: 'accept-edits', timeoutMs: null } as const;
    const one = await world.open({ permission });
    const sid = one.newSession();
    await world.ask(one, sid, { mode: 'edit', body: 'first' });
    await one.close();
    writeFileSync(join(world.project, 'outside.txt'), 'somebody else\n');
    const two = await world.open({ permission });
    const events = await world.ask(two, sid, { mode: 'edit', body: 'second' });
    const ends = events.flatMap((event) => (event.type === 'ToolCallEnd' ? [event.status] : [])).toSorted();
    expect(ends).toEqual([...Array(4).fill('ok'), 'refused', 'refused']);
    const now = (name: string) => readFileSync(join(world.project, `${name}.txt`), 'utf8');
    expect(['whole', 'part', 'found'].map(now)).toEqual(Array(3).fill('one\nTWO\nthree\nfour\n'));
    expect(['made', 'unread', 'outside'].map(now)).toEqual(['whole\n', lines, 'somebody else\n']);
  });
});

test('E9: journals of old, which do not name what was read, are folded as they are', () => {
  const seen: SeenFiles = {};
  const read = (data: object): JournalEvent =>
    ({ type: 'tool.done', op: '1.1.1', name: 'ReadFile', kind: 'ok', data }) as unknown as JournalEvent;
  const page = { path: '/p/a.txt', startLine: 1, endLine: 2, totalLines: 4 };
  noteSeenFiles(seen, read(page));
  expect(seen).toEqual({});
  noteSeenFiles(seen, read({ ...page, version: 'v1' }));
  // A part of a newer version leaves the rest as it was known.
  noteSeenFiles(seen, read({ ...page, version: 'v2' }));
  expect(seen).toEqual({ '/p/a.txt': 'v1' });
  noteSeenFiles(seen, read({ ...page, endLine: 4, version: 'v2' }));
  expect(seen).toEqual({ '/p/a.txt': 'v2' });
});
