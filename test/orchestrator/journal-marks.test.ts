// How far journals have come, on this machine's disk: one file that several processes write.

import { appendFileSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openMarks } from '../../orchestrator/journal-marks.ts';
import { ulid } from '../../shared/ids.ts';
import { tempHome } from '../support/redis.ts';

test('DURABILITY 15.9: a mark is what was noted last, whichever process of the home noted it, and others stay as they are', async () => {
  const { home, remove } = await tempHome();
  // By way of another name, as by another process, for one process has one table; both have looked before there was anything.
  const elsewhere = `${home}-elsewhere`;
  symlinkSync(home, elsewhere);
  const [one, other] = [openMarks(home), openMarks(elsewhere)];
  const [shared, mine, theirs] = [ulid(), ulid(), ulid()];
  for (const marks of [one, other]) expect(marks.read(shared)).toBeNull();
  expect(one.list()).toEqual([]);

  const pen = one.open(shared, 1);
  pen.note('1-4');
  expect(other.read(shared)).toEqual({ id: '1-4', seq: 1 });
  const next = other.open(shared, 2);
  next.note('2-10');
  expect(one.read(shared)).toEqual({ id: '2-10', seq: 2 });
  // Neither knows of the other's line yet when it adds its own.
  const pens = [one.open(mine, 1), other.open(theirs, 7)] as const;
  for (let n = 1; n <= 3; n++) {
    pens[0].note(`1-${n}`);
    pens[1].note(`12-${n * 1000}`);
  }
  for (const marks of [one, other, openMarks(home)]) {
    expect(marks.read(mine)).toEqual({ id: '1-3', seq: 1 });
    expect(marks.read(theirs)).toEqual({ id: '12-3000', seq: 7 });
    expect(marks.list().toSorted()).toEqual([shared, mine, theirs].toSorted());
  }
  for (const open of [pen, next, ...pens]) open.close();
  pens[0].close();
  expect(readFileSync(join(home, 'marks', 'table'), 'latin1').split('\n')).toHaveLength(4);

  other.drop(shared);
  expect(openMarks(home).list().toSorted()).toEqual([mine, theirs].toSorted());
  rmSync(elsewhere);
  await remove();
});

test('DURABILITY 15.9: a line that a crash has left half written costs no other session its mark', async () => {
  const { home, remove } = await tempHome();
  const [before, after, later] = [ulid(), ulid(), ulid()];
  const note = (sid: string, id: string) => {
    const pen = openMarks(home).open(sid, 1);
    pen.note(id);
    pen.close();
  };
  note(before, '1-1');
  appendFileSync(join(home, 'marks', 'table'), `${ulid()} 3-`);
  note(after, '1-2');
  note(later, '1-3');
  const marks = openMarks(home);
  expect([before, after, later].map((sid) => marks.read(sid)?.id)).toEqual(['1-1', '1-2', '1-3']);
  // Far too long for a line: it has no mark, and nothing is harmed.
  note('x'.repeat(90), '1-1');
  expect(marks.read('x'.repeat(90))).toBeNull();
  expect(marks.list()).toHaveLength(3);
  await remove();
});
