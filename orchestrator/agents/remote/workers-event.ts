// What a worker says of its agent's journal, as its parent's may have it (SAFETY 6). A worker tells what its agent did; it does not speak for the
// user or for other agents, nor say what is to be done to files here. Its own side leaves that out; its parent's takes nobody's word for it.

import { elsewhere } from '../../../agent/taint.ts';
import { isPatchEvent } from '../../../shared/agents.ts';
import type { JournalEvent } from '../../../shared/events.ts';
import type { OpId } from '../../../shared/ids.ts';

/** An event in its parent's terms: in the worker's session the agent's message is the first. Throws when it is not a worker's to say. */
export function workersEvent(said: JournalEvent, seq: number): JournalEvent {
  const event = tellable(said);
  if (!event) throw new Error(`The worker says what is not its to say: ${said.type}`);
  const named = (op: OpId): OpId => `${seq}.${op.slice(op.indexOf('.') + 1)}` as OpId;
  const own: JournalEvent = {
    ...event,
    ...('op' in event && event.op !== undefined ? { op: named(event.op) } : {}),
    ...('seq' in event ? { seq } : {}),
    ...('calls' in event ? { calls: event.calls.map((call) => ({ ...call, op: named(call.op) })) } : {}),
  };
  if (isPatchEvent(own)) throw new Error('The worker speaks of the call that puts its patch into the project.');
  if (!countsUp(own)) throw new Error(`The worker says that less than nothing was spent: ${own.type}`);
  return own;
}

/** What an agent spends takes from its parent's budget; less than nothing would give some back. */
function countsUp(event: JournalEvent): boolean {
  const usage = 'usage' in event ? event.usage : undefined;
  const counts = usage === undefined ? [] : [usage.input, usage.output, usage.cacheRead, usage.cacheWrite];
  if ('estimate' in event && event.estimate !== undefined) counts.push(event.estimate);
  return counts.every((count) => Number.isFinite(count) && count >= 0);
}

/** The event without what holds on the worker's machine alone; null: its parent has no use for it, or knows better. */
export function tellable(event: JournalEvent): JournalEvent | null {
  switch (event.type) {
    // Sessions and messages, their files, other agents.
    case 'session.opened':
    case 'session.titled':
    case 'session.forked':
    case 'msg.start':
    case 'msg.done':
    case 'files.moved':
    case 'agent.spawn':
    case 'agent.placed':
    case 'agent.ev':
    case 'agent.done':
    // Its parent has answered, or this worker by what it allows.
    case 'perm.answer':
      return null;
    case 'perm.ask':
      return event.question.relayed === true ? event : null;
    case 'tool.intent':
      return { ...event, intent: elsewhere(event.intent) };
    case 'tool.done': {
      const { data: _, ...done } = event;
      return done;
    }
    case 'claim':
    case 'llm.req':
    case 'llm.res':
    case 'llm.fail':
    case 'context.full':
    case 'compact.done':
    case 'compact.fail':
    case 'aux.used':
    case 'limit.hit':
    case 'hook.ran':
    case 'tool.start':
    case 'timer.set':
    case 'timer.fired':
    case 'cancel':
    case 'update':
    case 'word':
      return event;
  }
}
