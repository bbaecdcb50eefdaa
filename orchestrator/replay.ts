// `odin replay`: a session's machines and folds run again from its journal, without a model and without effects (DURABILITY 13).
// It says where the machines first ask for something else than the journal shows, and the hash of what the folds come to.

import { agentStart, isPatchEvent } from '../shared/agents.ts';
import type { EventOf, JournalEvent, Journaled } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import { kept } from './journal-snapshot.ts';
import { type Mismatch, type ReplayedMessage, replayMessage } from './replay-message.ts';
import { emptyMemory, remember, type SessionMemory } from './session-memory.ts';

export interface Difference {
  /** Id of the event at which it shows; null when it is in the end state. */
  readonly event: string | null;
  /** Number of the message. */
  readonly message: number;
  readonly expected: string;
  readonly found: string;
}

export interface ReplayReport {
  readonly session: string;
  readonly events: number;
  readonly messages: number;
  /** Machines by which it was written, oldest first. */
  readonly machines: readonly string[];
  /** What the newest message waits for; null when all are done. */
  readonly open: string | null;
  /** Of all that the folds make of the journal: state, conversation, file changes, permissions. */
  readonly stateHash: string;
  readonly difference: Difference | null;
}

/** Replays events whose payloads are inline. */
export function replayJournal(sid: string, log: readonly Journaled[]): ReplayReport {
  const memory = emptyMemory(sid);
  const machines = new Set<string>();
  let current: { readonly start: EventOf<'msg.start'>; readonly replayed: ReplayedMessage } | null = null;
  const agents = new Map<string, ReplayedAgent>();
  let messages = 0;
  let difference: Difference | null = null;
  for (const { id, event } of log) {
    remember(memory, event, id);
    if (event.type === 'claim') machines.add(event.machines);
    if (event.type === 'msg.start') {
      messages += 1;
      current = { start: event, replayed: replayMessage(event) };
    }
    const mismatch: Mismatch | null =
      difference === null ? (current?.replayed.take(event) ?? takeOfAgent(agents, event)) : null;
    if (mismatch && current) difference = { event: id, message: current.start.seq, ...mismatch };
    if (event.type === 'msg.done') {
      current = null;
      agents.clear();
    }
  }
  return {
    session: sid,
    events: log.length,
    messages,
    machines: [...machines],
    open: current && difference === null ? current.replayed.open() : null,
    stateHash: stateHash(memory),
    difference,
  };
}

interface ReplayedAgent {
  readonly start: EventOf<'msg.start'>;
  readonly replayed: ReplayedMessage;
}

/** A subagent's loop is replayed like a message's; one that is placed elsewhere begins anew. */
function takeOfAgent(agents: Map<string, ReplayedAgent>, event: JournalEvent): Mismatch | null {
  if (event.type === 'claim') for (const { replayed } of agents.values()) replayed.take(event);
  if (event.type === 'agent.spawn' || event.type === 'agent.placed') {
    const start = event.type === 'agent.spawn' ? agentStart(event) : agents.get(event.aid)?.start;
    if (!start) return null;
    const replayed = replayMessage(start);
    agents.set(event.aid, { start, replayed });
    return replayed.take(start);
  }
  // What a worker's agent changed is put into the project by Odin, not by the agent's machine.
  if (event.type !== 'agent.ev' || isPatchEvent(event.event)) return null;
  const mismatch = agents.get(event.aid)?.replayed.take(event.event) ?? null;
  return mismatch && { expected: `${event.aid}: ${mismatch.expected}`, found: mismatch.found };
}

/** Whether a snapshot is what the folds make of the journal up to where it was taken. */
export function snapshotDifference(sid: string, log: readonly Journaled[], snapshot: SessionMemory): Difference | null {
  const upTo = log.findIndex(({ id }) => id === snapshot.upTo) + 1;
  const memory = emptyMemory(sid);
  for (const { id, event } of log.slice(0, upTo)) remember(memory, event, id);
  const [expected, found] = [stateHash(memory), stateHash(snapshot)];
  if (expected === found) return null;
  return {
    event: snapshot.upTo,
    message: memory.state.messages.at(-1)?.seq ?? 0,
    expected: `the state ${expected}`,
    found: `a snapshot of the state ${found}; \`odin fsck --repair\` takes it away`,
  };
}

/** Of what the folds of a journal come to, the same whatever order their fields are in. */
export const stateHash = (memory: SessionMemory): string => sha256(canonical(kept(memory)));

function canonical(value: unknown): string {
  if (value instanceof Map) return canonical([...value.entries()]);
  if (value instanceof Set) return canonical([...value.values()]);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
