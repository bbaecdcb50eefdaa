// Messages that may kill the process they run in (DURABILITY 0.9). A crash counts for all that ran in the process, so who was in
// several of them is only suspect: it goes on in a process of its own, one such message at a time, and what ran beside it goes on as
// ever. Only a crash of that process, seen by this one, is evidence; after CONDEMNED_AFTER of them the message is ended with a word that
// says so. Nothing here judges a message that never crashed alone.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Journaled } from '../shared/events.ts';
import { claimEvent } from './claim-event.ts';
import { condemn } from './condemned-message.ts';
import { type ClaimResult, claimSession } from './journal.ts';
import type { Marks } from './journal-marks.ts';
import type { Log } from './log.ts';
import { identityOf, type ProcessIdentity } from './process-identity.ts';
import type { OdinRedis } from './redis.ts';
import type { Turn } from './turn-ticket.ts';

export interface Quarantine {
  /** Whether the message runs there, or waits for it. */
  has(turn: Turn): boolean;
  /** Takes a suspect over: its claim is put down, and it runs there. False: it may run here. */
  takes(turn: Turn, claim: Claimed): boolean;
  /** Ends what runs there; another process goes on with it. */
  close(): Promise<void>;
}

type Claimed = Extract<ClaimResult, { status: 'ok' }>;

export interface QuarantineDeps {
  readonly redis: OdinRedis;
  readonly ws: string;
  readonly marks: Marks;
  /** Starts a process that runs the message it is told of on its stdin: run-alone.ts. */
  readonly command: readonly string[];
  /** What it is told. */
  orderFor(turn: Turn): string;
  /** Others must end it before they go on with the message. */
  nameHelper(helper: ProcessIdentity | null): Promise<void>;
  /** Shows here what happens there, until the message ends or the signal aborts. */
  relay(turn: Turn, signal: AbortSignal): Promise<void>;
  /** Shows events that were written here, behind those that the session has. */
  publish(sid: string, past: readonly Journaled[], events: readonly Journaled[]): Promise<void>;
  /** A message has ended, or can go on elsewhere. */
  ended(): void;
  now(): number;
  readonly log: Log;
}

/** Crashes of processes that ran the message among others, after which it runs alone. */
const SUSPECT_AFTER = 3;
/** Crashes of processes that ran nothing else. */
const CONDEMNED_AFTER = 3;
const LEAVE_MS = 5_000;
const RELAY_MS = 1_000;
/** Until it is tried again where no process could be started: each try is a claim, which the journal keeps. */
const AGAIN_MS = 5_000;

export function createQuarantine(deps: QuarantineDeps): Quarantine {
  const waiting = new Map<string, Turn>();
  const closing = new AbortController();
  let tail: Promise<void> = Promise.resolve();

  const runUntilDecided = async (turn: Turn): Promise<void> => {
    while (!closing.signal.aborted) {
      const how = await runOnce(turn);
      if (how === null || closing.signal.aborted || (await wasLast(turn, how))) return;
    }
  };

  /** Null: it ended by itself. Else how it died. */
  const runOnce = async (turn: Turn): Promise<string | null> => {
    const [file = '', ...args] = deps.command;
    // A group of its own: Ctrl-C at the terminal is for this process, which then tells that one.
    const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true });
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    // One that cannot be started fails before anybody waits for its end.
    ended.catch(() => {});
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-MOST_SAID);
    });
    child.stdin.on('error', () => {});
    const leave = () => void child.stdin.end();
    closing.signal.addEventListener('abort', leave, { once: true });
    const shown = new AbortController();
    const relayed = deps.relay(turn, shown.signal).catch(() => {});
    try {
      await deps.nameHelper(child.pid === undefined ? null : identityOf(child.pid));
      child.stdin.write(`${deps.orderFor(turn)}\n`);
      if (closing.signal.aborted) leave();
      const [code, signal] = await ended;
      if (code === 0) {
        await Promise.race([relayed, delay(RELAY_MS, undefined, { ref: false })]);
        return null;
      }
      const how = signal ?? `exit code ${code}`;
      deps.log('a process that ran a message alone has died', { sid: turn.sid, seq: turn.seq, how, said });
      return how;
    } finally {
      closing.signal.removeEventListener('abort', leave);
      leave();
      shown.abort();
      await deps.nameHelper(null);
    }
  };

  /** Writes the crash down by claiming the message; the last one ends it. */
  const wasLast = async (turn: Turn, how: string): Promise<boolean> => {
    const { redis, ws, marks } = deps;
    const { sid, seq } = turn;
    const claim = claimEvent(seq, deps.now());
    const claimed = await claimSession(redis, { sid, seq, ws, claim, marks, sawCrash: true });
    if (claimed.status !== 'ok') return true;
    try {
      if (claimed.crashesAlone < CONDEMNED_AFTER) return false;
      const written = await condemn(claimed, { seq, how, crashes: claimed.crashesAlone }, deps.now);
      await deps.publish(sid, claimed.log, written);
      return true;
    } finally {
      claimed.journal.release();
    }
  };

  return {
    has: (turn) => waiting.has(keyOf(turn)),
    takes(turn, claim) {
      if (claim.crashes < SUSPECT_AFTER) return false;
      const key = keyOf(turn);
      waiting.set(key, turn);
      tail = tail
        .then(() => runUntilDecided(turn))
        .catch((error: unknown) => {
          deps.log('a message could not be run alone', { error: String(error) });
          return delay(AGAIN_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {});
        })
        .then(() => {
          waiting.delete(key);
          if (!closing.signal.aborted) deps.ended();
        });
      return true;
    },
    async close() {
      closing.abort();
      await Promise.race([tail, delay(LEAVE_MS, undefined, { ref: false })]);
    },
  };
}

const MOST_SAID = 2_000;

const keyOf = ({ sid, seq }: Turn): string => `${sid}_${seq}`;
