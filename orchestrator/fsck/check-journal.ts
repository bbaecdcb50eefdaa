// One journal by itself, from Redis or from a file: whether every entry is an event, ids are dense and epochs begin with their claim,
// messages come in order and end once, and every result belongs to a call and is the only one. Pure; it never throws at what it reads.

import type { JournalEvent, JournalEventType } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { RawEntry } from '../archive-file.ts';
import { decodeText } from '../journal-read.ts';
import type { Finding } from './finding.ts';

export interface CheckedJournal {
  readonly findings: readonly Finding[];
  readonly lastId: string;
  readonly epoch: number;
  /** The newest message that has ended, and the newest that was begun. */
  readonly ended: number;
  readonly begun: number;
  /** Blobs that an event needs, with their sizes. */
  readonly needs: ReadonlyMap<string, number>;
}

const BLOB = /"sha256":"([0-9a-f]{64})","bytes":(\d+)/g;

export function checkJournal(where: string, entries: readonly RawEntry[]): CheckedJournal {
  const findings: Finding[] = [];
  const wrong = (code: string, message: string) => {
    if (findings.filter((finding) => finding.code === code).length < MOST_OF_A_KIND) {
      findings.push({ severity: 'error', code, where, message });
    }
  };
  const needs = new Map<string, number>();
  let [epoch, n, claimed] = [0, 0, 0];
  let [begun, ended] = [0, 0];
  let calls = new Set<OpId>();
  const settled = new Set<OpId>();

  const checkId = (id: string, event: JournalEvent): void => {
    const [e = 0, k = 0] = id.split('-').map(Number);
    const isOrigin = id === '0-1' && event.type === 'session.forked';
    if (e < epoch || (e === epoch && k <= n && !isOrigin)) wrong('journal_order', `Event ${id} follows ${epoch}-${n}.`);
    else if (e === epoch && k !== n + 1 && !isOrigin)
      wrong('journal_gap', `Events between ${epoch}-${n} and ${id} are missing.`);
    else if (e > epoch && (k !== 0 || event.type !== 'claim'))
      wrong('journal_claim', `Epoch ${e} begins with ${id}, a ${event.type}, not with a claim.`);
    else if (e === epoch && event.type === 'claim')
      wrong('journal_claim', `Event ${id} is a claim inside of an epoch.`);
    [epoch, n] = [e, k];
  };

  const checkMessage = (id: string, event: JournalEvent): void => {
    switch (event.type) {
      case 'claim':
        if (event.seq < claimed)
          wrong('journal_messages', `Event ${id} claims message ${event.seq} after message ${claimed}.`);
        claimed = event.seq;
        return;
      case 'msg.start':
        if (event.seq !== ended + 1 || begun >= event.seq) {
          wrong('journal_messages', `Event ${id} begins message ${event.seq} after message ${Math.max(begun, ended)}.`);
        }
        begun = event.seq;
        calls = new Set();
        return;
      case 'msg.done':
        if (event.seq !== ended + 1)
          wrong('journal_messages', `Event ${id} ends message ${event.seq} after the end of message ${ended}.`);
        ended = Math.max(ended, event.seq);
        return;
      case 'llm.res':
        for (const { op } of event.calls) calls.add(op);
        return;
      case 'tool.done':
        if (settled.has(event.op)) wrong('journal_results', `Event ${id} is a second result of call ${event.op}.`);
        else if (!calls.has(event.op))
          wrong('journal_results', `Event ${id} is a result of ${event.op}, which no answer calls.`);
        settled.add(event.op);
        return;
      default:
        return;
    }
  };

  for (const [id, text] of entries) {
    const event = eventOf(id, text);
    if (event === null) {
      wrong(
        'journal_undecodable',
        `Event ${id} cannot be read. What came before it can be gone on with: odin sessions fork ${where} --at ID`,
      );
      [epoch, n] = id.split('-').map(Number) as [number, number];
      continue;
    }
    for (const [, hash = '', bytes] of text.matchAll(BLOB)) needs.set(hash, Number(bytes));
    checkId(id, event);
    checkMessage(id, event);
  }
  return { findings, lastId: entries.at(-1)?.[0] ?? '0-0', epoch, ended, begun, needs };
}

const MOST_OF_A_KIND = 5;

function eventOf(id: string, text: string): JournalEvent | null {
  try {
    const { event } = decodeText(id, text);
    return typeof event === 'object' && event !== null && Object.hasOwn(EVENT_TYPES, event.type) ? event : null;
  } catch {
    return null;
  }
}

/** All there are, so that a new one is not taken for damage. */
const EVENT_TYPES: Readonly<Record<JournalEventType, true>> = {
  claim: true,
  'session.opened': true,
  'session.forked': true,
  'session.titled': true,
  'msg.start': true,
  'llm.req': true,
  'llm.res': true,
  'llm.fail': true,
  'context.full': true,
  'compact.done': true,
  'compact.fail': true,
  'aux.used': true,
  'limit.hit': true,
  'hook.ran': true,
  'tool.start': true,
  'tool.intent': true,
  'tool.done': true,
  'perm.ask': true,
  'perm.answer': true,
  'timer.set': true,
  'timer.fired': true,
  cancel: true,
  update: true,
  'files.moved': true,
  'agent.spawn': true,
  'agent.placed': true,
  'agent.ev': true,
  'agent.done': true,
  word: true,
  'msg.done': true,
};
