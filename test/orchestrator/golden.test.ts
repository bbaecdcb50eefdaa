// Journals of real sessions, recorded once and kept: every later Odin must read them, ask for the same effects and come to the same
// state (DURABILITY 13 and 15, test 21). AGENTS.md says how they are recorded and what to do when one comes to another state.

import { expect, test } from '@jest/globals';
import { checkJournal } from '../../orchestrator/fsck/check-journal.ts';
import { FOLD_VERSION } from '../../orchestrator/journal-snapshot.ts';
import { replayJournal } from '../../orchestrator/replay.ts';
import type { JournalEventType } from '../../shared/events.ts';
import { goldenNames, readGolden, readHashes } from '../support/golden-journals.ts';
import { SCENARIOS } from '../support/golden-scenarios.ts';

/** What a golden journal is about must be in it, or it proves nothing. */
const HOLDS: Readonly<Record<string, readonly JournalEventType[]>> = {
  ask: ['session.opened', 'llm.res', 'tool.done'],
  'parallel-tools': ['tool.start', 'tool.done'],
  question: ['perm.ask', 'perm.answer', 'tool.intent'],
  cancel: ['cancel', 'llm.fail'],
  retry: ['timer.set', 'timer.fired', 'llm.fail'],
  undo: ['files.moved', 'tool.intent'],
  compaction: ['compact.done', 'aux.used'],
  budget: ['limit.hit'],
  fallback: ['llm.fail', 'llm.res'],
  hooks: ['hook.ran'],
};

test('DURABILITY 15.21: every scenario has a golden journal, and older ones are kept', () => {
  expect(goldenNames()).toEqual(expect.arrayContaining(Object.keys(SCENARIOS)));
  expect(Object.keys(HOLDS).toSorted()).toEqual(Object.keys(SCENARIOS).toSorted());
  expect(Object.keys(readHashes().states)).toEqual(goldenNames());
});

for (const name of goldenNames()) {
  test(`DURABILITY 15.21, O4: the golden journal "${name}" asks for what was done and comes to the same state`, () => {
    const log = readGolden(name);
    const types = new Set(log.map(({ event }) => event.type));
    expect((HOLDS[name] ?? []).filter((type) => !types.has(type))).toEqual([]);
    const entries = log.map(({ id, event }) => [id, JSON.stringify({ w: 'golden', e: event })] as const);
    expect(checkJournal(name, entries).findings).toEqual([]);
    const { difference, open, stateHash } = replayJournal(name, log);
    expect({ difference, open }).toEqual({ difference: null, open: null });
    // Another state of the same events: raise FOLD_VERSION, so that snapshots are made anew, and run `npm run golden`.
    expect({ folds: FOLD_VERSION, state: stateHash }).toEqual({
      folds: readHashes().folds,
      state: readHashes().states[name],
    });
  });
}
