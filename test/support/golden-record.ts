// `npm run golden`: replays the golden journals as they are and writes what they come to into hashes.json. `npm run golden -- --record
// [NAME...]` records journals anew first; what was recorded by an earlier version is to be kept under another name, not replaced.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FOLD_VERSION } from '../../orchestrator/journal-snapshot.ts';
import { replayJournal } from '../../orchestrator/replay.ts';
import { GOLDEN_FOLDER, goldenNames, type Hashes, readGolden, readHashes } from './golden-journals.ts';
import { record, SCENARIOS } from './golden-scenarios.ts';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { record: { type: 'boolean' } } });
const names = positionals.length > 0 ? positionals : Object.keys(SCENARIOS);
const unknown = names.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0)
  throw new Error(`There is no scenario ${unknown.join(', ')}: ${Object.keys(SCENARIOS).join(', ')}`);

if (values.record === true) {
  for (const name of names) {
    const lines = await record(SCENARIOS[name] as (typeof SCENARIOS)[string]);
    writeFileSync(join(GOLDEN_FOLDER, `${name}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    console.log(`recorded ${name}: ${lines.length} events`);
  }
}
const hashes: Hashes = { folds: FOLD_VERSION, states: {} };
for (const name of goldenNames()) {
  const { difference, stateHash } = replayJournal(name, readGolden(name));
  if (difference)
    throw new Error(`${name} differs at ${difference.event}: ${difference.expected} / ${difference.found}`);
  hashes.states[name] = stateHash;
}
const before = readHashes();
const changed = Object.keys(before.states).filter((name) => hashes.states[name] !== before.states[name]);
if (values.record !== true && changed.length > 0 && before.folds === FOLD_VERSION) {
  throw new Error(
    `${changed.join(', ')} come to another state: raise FOLD_VERSION in orchestrator/journal-snapshot.ts first.`,
  );
}
writeFileSync(join(GOLDEN_FOLDER, 'hashes.json'), `${JSON.stringify(hashes, null, 2)}\n`);
console.log(`${Object.keys(hashes.states).length} journals; ${changed.length} come to another state than before`);
