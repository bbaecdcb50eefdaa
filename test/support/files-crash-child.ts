// Makes numbered changes, each journaled as intent and result in a plain file, and dies where it is told to. Started again, it
// first settles the change whose result is missing.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { createFiles } from '../../orchestrator/files/files.ts';
import { fileIntentOf, resumeEdit } from '../../orchestrator/files/resume-edit.ts';
import type { Json } from '../../shared/json.ts';
import { must } from './files-bench.ts';

export interface CrashOrder {
  readonly root: string;
  readonly home: string;
  readonly journal: string;
  readonly changes: number;
  /** After so many changes of this life. */
  readonly dieAfter: number;
  readonly at: 'intent' | 'rename' | 'outside';
}

interface Line {
  readonly n: number;
  readonly intent?: Json;
  readonly done?: string;
}

const order = JSON.parse(process.argv[2] ?? '') as CrashOrder;
const { root, journal } = order;
const append = (line: Line) => appendFileSync(journal, `${JSON.stringify(line)}\n`);
const die = () => process.kill(process.pid, 'SIGKILL');
const files = createFiles({ root, blobs: openBlobs(order.home) });
const port = files.portFor();

const lines = existsSync(journal)
  ? readFileSync(journal, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  : [];
let next = lines.filter((line) => line.done).length;
const open = lines.findLast((line) => line.n === next && line.intent);
const intent = fileIntentOf(open?.intent ?? null);
if (intent) {
  append({ n: next++, done: must(await resumeEdit(files, intent)).how });
  process.stdout.write('resumed\n');
}

for (let made = 1; next < order.changes; next++, made++) {
  const n = next;
  const last = made > order.dieAfter;
  const intend = async (intent: Json) => {
    append({ n, intent });
    if (last && order.at === 'intent') die();
    if (last && order.at === 'outside') process.stdout.write('now\n');
  };
  if (n % 5 === 4) {
    must(await port.write(join(root, `made/${n}.txt`), `token ${n};\n`, intend));
  } else {
    const path = join(root, `f${n % 3}.txt`);
    must(await port.read(path));
    must(await port.edit(path, [{ oldText: 'end\n', newText: `token ${n};\nend\n`, replaceAll: false }], intend));
  }
  if (last && order.at === 'rename') die();
  append({ n, done: 'made' });
}
