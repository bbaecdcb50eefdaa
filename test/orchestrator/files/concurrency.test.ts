import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import type { Json } from '../../../shared/json.ts';
import { codeOf, type FilesBench, messageOf, must, openFilesBench } from '../../support/files-bench.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';

let bench: FilesBench;
afterEach(() => bench.close());

const AGENTS = 8;
const EDITS = 20;

/** Changes one line as an editor does: read, write beside, rename. Between the read and the rename nobody else can run. */
function outsideEdit(path: string, from: string, to: string): void {
  writeFileSync(`${path}.editor`, readFileSync(path, 'utf8').replace(from, to));
  renameSync(`${path}.editor`, path);
}

/** Each agent thinks for some turns of the event loop between reading and editing, so that their work interleaves. */
async function think(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

test('DURABILITY 12: 8 agents × 20 edits and an outside editor on one file: no change is lost, conflicts are reported', async () => {
  bench = openFilesBench();
  const random = randomFrom(printedSeed('8 agents on one file'));
  const own = Array.from({ length: AGENTS * EDITS }, (_, i) => `slot ${i} empty;\n`);
  const theirs = Array.from({ length: 50 }, (_, i) => `outside ${i} old;\n`);
  const path = bench.put('shared.txt', `${own.join('')}${theirs.join('')}contested\n`);
  let [rebased, conflicts, won, outside] = [0, 0, 0, 0];
  const editOutside = () => outsideEdit(path, `outside ${outside} old;`, `outside ${outside++} new;`);
  // In the worst moment, when the agent's change is all but made; how often does not depend on the speed of the machine.
  const intend = async (intent: Json) => {
    await bench.intend(intent);
    if (outside < theirs.length && random(3) === 0) editOutside();
  };
  const agent = async (a: number) => {
    const port = bench.files.portFor();
    for (let e = 0; e < EDITS; e++) {
      const slot = a * EDITS + e;
      must(await port.read(path));
      await think(random(4));
      if (outside < theirs.length && random(10) === 0) editOutside();
      const edit = { oldText: `slot ${slot} empty;`, newText: `slot ${slot} agent ${a};`, replaceAll: false };
      if (must(await port.edit(path, [edit], intend)).rebased) rebased++;
    }
    // All want the same line; one gets it, and the others are told.
    const wanted = { oldText: 'contested\n', newText: `won by ${a}\n`, replaceAll: false };
    const outcome = await port.edit(path, [wanted], intend);
    if (codeOf(outcome) === 'ok') won++;
    else if (['conflict', 'no_match'].includes(codeOf(outcome))) conflicts++;
  };
  await Promise.all(Array.from({ length: AGENTS }, (_, a) => agent(a)));
  expect(outside).toBeGreaterThan(20);
  const text = readFileSync(path, 'utf8');
  const lost = own.filter((_, i) => !text.includes(`slot ${i} agent ${Math.floor(i / EDITS)};`));
  expect(lost).toEqual([]);
  expect(theirs.slice(0, outside).filter((_, i) => !text.includes(`outside ${i} new;`))).toEqual([]);
  expect({ won, conflicts }).toEqual({ won: 1, conflicts: AGENTS - 1 });
  expect(rebased).toBeGreaterThan(0);
  expect(bench.files.locks.size).toBe(0);
});

test('DURABILITY 12: an agent outlasts a burst of outside changes, and is told of one that does not end', async () => {
  bench = openFilesBench();
  const path = bench.put('busy.txt', 'mine: 0\ntheirs: 0\n');
  // Fewer than the tries that every change gets, so that it ends well on a machine of any speed.
  let [n, burst] = [0, 15];
  const intend = async () => {
    if (burst-- > 0) outsideEdit(path, `theirs: ${n}\n`, `theirs: ${++n}\n`);
  };
  const add = (from: number) => ({ oldText: `mine: ${from}\n`, newText: `mine: ${from + 1}\n`, replaceAll: false });
  must(await bench.port.read(path));
  must(await bench.port.edit(path, [add(0)], intend));
  expect(readFileSync(path, 'utf8')).toBe('mine: 1\ntheirs: 15\n');
  burst = Number.POSITIVE_INFINITY;
  const outcome = await bench.port.edit(path, [add(1)], intend);
  expect(codeOf(outcome)).toBe('conflict');
  expect(messageOf(outcome)).toMatch(/all the time\. Nothing was changed/);
  expect(readFileSync(path, 'utf8')).toBe(`mine: 1\ntheirs: ${n}\n`);
});

test('DURABILITY 12: the same over 200 files: no change is lost', async () => {
  bench = openFilesBench();
  const random = randomFrom(printedSeed('8 agents on 200 files'));
  const paths = Array.from({ length: 200 }, (_, f) =>
    bench.put(`dir${f % 7}/${f}.txt`, Array.from({ length: AGENTS }, (_, a) => `agent ${a}: 0\n`).join('')),
  );
  const counts = new Map<string, number>();
  const agent = async (a: number) => {
    const port = bench.files.portFor();
    for (let e = 0; e < 60; e++) {
      const path = paths[random(paths.length)] ?? '';
      must(await port.read(path));
      await think(random(3));
      const key = `${path}|${a}`;
      const n = counts.get(key) ?? 0;
      must(
        await port.edit(
          path,
          [{ oldText: `agent ${a}: ${n}\n`, newText: `agent ${a}: ${n + 1}\n`, replaceAll: false }],
          bench.intend,
        ),
      );
      counts.set(key, n + 1);
    }
  };
  await Promise.all(Array.from({ length: AGENTS }, (_, a) => agent(a)));
  for (const path of paths) {
    const expected = Array.from({ length: AGENTS }, (_, a) => `agent ${a}: ${counts.get(`${path}|${a}`) ?? 0}\n`).join(
      '',
    );
    expect(readFileSync(path, 'utf8')).toBe(expected);
  }
});

test('DURABILITY 12: 8 agents writing whole files lose nothing either: compare-and-swap, and those who lose read again', async () => {
  bench = openFilesBench();
  const path = bench.put('list.txt', '');
  let refused = 0;
  const agent = async (a: number) => {
    const port = bench.files.portFor();
    for (let e = 0; e < 10; e++) {
      for (;;) {
        const { text } = must(await port.read(path));
        await think(1);
        const outcome = await port.write(path, `${text}${a}.${e}\n`, bench.intend);
        if (outcome.ok) break;
        expect(outcome.failure.code).toBe('conflict');
        refused++;
      }
    }
  };
  await Promise.all(Array.from({ length: AGENTS }, (_, a) => agent(a)));
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  expect(new Set(lines).size).toBe(AGENTS * 10);
  expect(lines).toHaveLength(AGENTS * 10);
  expect(refused).toBeGreaterThan(0);
});
