// The end of a message that kills every process it runs in (DURABILITY 0.9, quarantine.ts): each open call gets a result that says that
// its outcome is unknown, and the message ends with what happened and what can be done.

import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { NO_USAGE } from '../shared/messages.ts';
import type { Failure } from '../shared/outcome.ts';
import type { SessionJournal } from './journal-owner.ts';
import { openCalls, unknownResult } from './journal-rewound.ts';

/** Returns the events that it wrote. */
export async function condemn(
  { journal, log }: { readonly journal: SessionJournal; readonly log: readonly Journaled[] },
  { seq, how, crashes }: { readonly seq: number; readonly how: string; readonly crashes: number },
  now: () => number,
): Promise<readonly Journaled[]> {
  const written: Journaled[] = [];
  const append = async (event: JournalEvent) => written.push({ id: await journal.append(event), event });
  for (const call of openCalls(log)) await append(unknownResult(call, UNKNOWN, now()));
  const end = condemnedEnd(seq, `${crashes} times in a row (${how})`, now());
  await journal.finish(end);
  return [...written, { id: journal.lastId, event: end }];
}

const UNKNOWN =
  'Odin crashed while this ran, again and again. Whether it took effect is unknown: check before you try again.';

function condemnedEnd(seq: number, often: string, at: number): EventOf<'msg.done'> {
  const failure: Failure = {
    kind: 'failed',
    code: 'process_crashed',
    message: `This message killed the process that ran it, ${often}, with nothing else in it. It is not tried again; other messages go on. Look at the files before you ask in another way; ODIN_LOG=1 writes down what happens.`,
  };
  return {
    type: 'msg.done',
    seq,
    status: 'planner_failure',
    answer: { inline: `[Failed: ${failure.message}]` },
    failure,
    usage: NO_USAGE,
    steps: 0,
    at,
  };
}
