// A subagent that works with a worker, on its parent's side (SPEC O19, C5): the same port as agent-host.ts. The worker journals for itself and
// says here what it does; that goes into the session's journal as a local agent's own events do, so that tree, costs and state are the same.
// When no worker is there any more it begins anew in a thread of this process. What it changed is put into the project once, at its end.

import { Left } from '../../../agent/loop.ts';
import { foldState } from '../../../agent/state.ts';
import { startActor } from '../../../machines/host.ts';
import type { SubagentEffect, SubagentEnd, SubagentEvent } from '../../../machines/subagent/events.ts';
import { subagentMachine } from '../../../machines/subagent/machine.ts';
import { agentStart, isPatchEvent, type OpenAgent } from '../../../shared/agents.ts';
import type { AgentReport } from '../../../shared/agents-port.ts';
import type { JournalEvent, LimitKind, Limits } from '../../../shared/events.ts';
import type { OpId } from '../../../shared/ids.ts';
import type { Failure } from '../../../shared/outcome.ts';
import { scrubJson } from '../../../shared/scrub.ts';
import { tokensIn } from '../../../shared/spending.ts';
import type { Amount, Scope } from '../../budget/ledger.ts';
import { withAccounts } from '../../budget/with-accounts.ts';
import { seenFilesOf } from '../../files/seen-files.ts';
import { withHooks } from '../../hooks/turn-hooks.ts';
import { emptyMemory } from '../../session-memory.ts';
import type { AgentHost, AgentHostDeps } from '../agent-host.ts';
import type { RemoteEnd, RemoteOrder } from './order.ts';
import { patchText, putIntoProject } from './patch-call.ts';
import type { Heard, RemoteAgents } from './remote-agents.ts';

/** A cancelled agent has to say how it ended within this. */
const GRACE_MS = 15_000;
/** So long nobody may be there before the agent works here. */
const ALONE_MS = 3_000;
/** And so long those that are there may be too busy to begin. */
const WAIT_MS = 60_000;

/** Orders an agent, or goes on with one that was ordered before a crash. `startHere`: it works in this process after all. */
export function startRemoteAgent(
  { parent, supplies, scope }: AgentHostDeps,
  remote: RemoteAgents,
  { spawn, events: past, placed }: OpenAgent,
  startHere: () => AgentHost,
): AgentHost {
  const { aid, seq, title } = spawn;
  const sid = `${parent.sid}_${aid}`;
  const start = agentStart(spawn);
  const memory = emptyMemory(sid);
  Object.defineProperty(memory, 'permissions', { get: () => parent.memory.permissions });
  const end = Promise.withResolvers<AgentReport>();
  end.promise.catch(() => {});
  const following = new AbortController();
  let events: JournalEvent[] = [...past];
  let attempt = placed?.attempt ?? 0;
  let heard = past.filter((event) => !isPatchEvent(event)).length;
  let isBegun = placed !== null;
  let order: RemoteOrder | null = null;
  let last: RemoteEnd | null = null;
  let here: AgentHost | null = null;
  let cancelledBy: string | null = null;
  let overLimit: LimitKind | null = null;
  /** While what it changed is put into the project: stops that. */
  let putting: AbortController | null = null;
  let isLeft = false;
  let isTaken = false;
  let grace: NodeJS.Timeout | undefined;
  let lonelySince: number | null = null;
  const orderedAt = performance.now();

  const own = supplies.forAgent(
    sid,
    spawn.mode,
    () => memory.state.todos,
    () => seenFilesOf([]),
  );
  const record = (event: JournalEvent): void => {
    if (isLeft || here) return;
    events.push(event);
    memory.state = foldState(memory.state, { id: '0-0', event });
    parent.record({ type: 'agent.ev', aid, event, at: event.at ?? deps.now() });
  };
  const deps = withHooks(
    withAccounts(
      {
        ...own,
        sid,
        root: parent.root,
        agent: `${title} (${aid})`,
        memory,
        record,
        flushed: () => parent.flushed(),
        recorder: { record, flushed: () => parent.flushed(), finish: () => Promise.reject(new Left()) },
        live: { publish: (event) => parent.live.publish(event.type === 'progress' ? { ...event, agent: aid } : event) },
        budgetPolicy: { ...parent.budgetPolicy, message: scope },
      },
      start,
      [start, ...past],
    ),
    start,
  );
  for (const event of [start, ...past]) memory.state = foldState(memory.state, { id: '0-0', event });

  const spent = (): Amount => {
    const spending = memory.state.messages.at(-1)?.spending ?? {};
    return { usd: deps.models.costOf(spending), tokens: tokensIn(spending) };
  };

  /** An event of the worker's journal: it is journaled here as the agent's own, and what it cost is the message's too. */
  const mirror = (event: JournalEvent): void => {
    const before = spent();
    record(ofMessage(event, seq));
    const after = spent();
    const usd = after.usd === null || before.usd === null ? null : after.usd - before.usd;
    const cost: Amount = { usd, tokens: after.tokens - before.tokens };
    if (cost.tokens !== 0) for (const one of scopesOf(deps.budget.scope)) one.add(cost);
    overLimit ??= limitReached(deps.budget.scope.parent);
    if (overLimit !== null && cancelledBy === null) cancel('the budget of the message');
  };

  const take = ({ attempt: of, n, entry }: Heard): void => {
    switch (entry.k) {
      case 'placed':
        if (of <= attempt) return;
        [attempt, heard, events, isBegun] = [of, 0, [], true];
        parent.record({ type: 'agent.placed', aid, seq, worker: entry.worker, attempt, at: deps.now() });
        return actor.send({ type: 'loop.started' });
      case 'ev':
        if (of !== attempt || n !== heard + 1) return;
        heard = n;
        return mirror(entry.event as unknown as JournalEvent);
      case 'end':
        if (of < attempt) return;
        if (entry.unable && cancelledBy === null) return workHere(entry.answer);
        last = entry;
        // One that could not begin never said that it had.
        if (!isBegun) actor.send({ type: 'loop.started' });
        return actor.send({ type: 'loop.ended', end: endOf(entry) });
    }
  };

  const listen = async (rid: string): Promise<void> => {
    let looked = performance.now();
    for await (const said of remote.follow(rid, { attempt, n: heard }, following.signal)) {
      if (isLeft || here || last) return;
      if (said) take(said);
      else if (performance.now() - looked > 1_000) {
        looked = performance.now();
        await watch();
      }
    }
  };

  /** Whether anybody may still end it. */
  const watch = async (): Promise<void> => {
    if (order === null || cancelledBy !== null) return;
    const standing = await remote.standing(order);
    const now = performance.now();
    lonelySince = standing === 'alone' ? (lonelySince ?? now) : null;
    const isAlone = lonelySince !== null && now - lonelySince > ALONE_MS;
    const isLate = standing === 'waits' && !isBegun && now - orderedAt > WAIT_MS;
    if (!isAlone && !isLate) return;
    if ((await remote.take(order.rid)) === 'ended') return;
    workHere(isLate ? 'no worker had time for it' : 'no worker is there any more');
  };

  /** It begins anew in this process; what it did with a worker is not in the project. */
  const workHere = (why: string): void => {
    if (isLeft || here) return;
    parent.record({ type: 'agent.placed', aid, seq, worker: null, why, attempt, at: deps.now() });
    const { rid } = order ?? { rid: sid };
    following.abort();
    here = startHere();
    here.end.then(end.resolve, end.reject);
    if (cancelledBy !== null) here.cancel(cancelledBy);
    // Redis may forget it once the journal has it.
    parent
      .flushed()
      .then(() => remote.forget(rid))
      .catch((error: unknown) => deps.log('a remote agent stays in Redis', { aid, error: String(error) }));
  };

  const begin = async (): Promise<void> => {
    const ordered = await remote.order(sid, spawn, {
      limits: within(spawn.limits, deps.budget.scope.parent),
      attempt,
    });
    if (isLeft) return;
    if (!ordered.ok) return workHere(ordered.failure.message);
    order = ordered.value;
    if (isBegun) actor.send({ type: 'loop.started' });
    if (cancelledBy !== null) await stop(cancelledBy);
    await listen(order.rid);
  };

  /** Told to whoever runs it; when nobody does, nobody will. */
  const stop = async (by: string): Promise<void> => {
    if (order === null) return;
    if (isBegun) return remote.tell(order.rid, { k: 'cancel', by });
    if ((await remote.take(order.rid)) === 'ok') {
      actor.send({ type: 'loop.ended', end: NEVER_BEGUN });
    }
  };

  const cancel = (by: string): void => {
    if (here) return here.cancel(by);
    putting?.abort();
    if (cancelledBy !== null) return;
    cancelledBy = by;
    actor.send({ type: 'cancel.requested', by });
  };

  const report = async (ended: SubagentEnd): Promise<void> => {
    clearTimeout(grace);
    following.abort();
    if (isLeft) return;
    let { end: kind, limit, answer: text, failure } = ended;
    if (kind === 'cancelled' && overLimit !== null) [kind, limit] = ['limit', overLimit];
    const patch = isTaken ? null : (last?.patch ?? null);
    if (patch !== null && order !== null && (kind === 'completed' || kind === 'limit')) {
      const { files } = remote;
      const whole = order;
      putting = new AbortController();
      // Its own end was quicker than the word; what a budget has cancelled is taken over as far as it came.
      if (cancelledBy !== null && overLimit === null) putting.abort();
      const done = await putIntoProject(deps, {
        ...{ seq, patch, files, tools: spawn.tools, signal: putting.signal },
        past: () => events,
        changes: () => remote.changes(whole, patch),
      });
      if (isLeft || done === null) return;
      text = `${text}\n\n[${patchText(done)}]`;
      if (done.kind !== 'ok') {
        const file = await remote.keep(whole.rid, patch);
        text = `${text}\n[What the agent changed in its copy is not in the project${file === null ? '' : `; the user finds it as a patch in ${file}`}.]`;
        const how = done.kind === 'cancelled' ? 'cancelled' : 'failed';
        failure = { kind: how, code: 'patch_not_applied', message: patchText(done) };
        if (kind === 'completed') kind = how;
      }
    } else if (patch !== null) {
      text = `${text}\n\n[What it had changed in its copy is not put into the project.]`;
    }
    const at = deps.now();
    const steps = memory.state.messages.at(-1)?.steps ?? ended.steps;
    parent.record({
      ...{ type: 'agent.done', aid, seq, title, background: spawn.background, end: kind },
      ...(limit === null ? {} : { limit }),
      answer: { inline: deps.scrub(deps.clean(text)) },
      ...(failure === null ? {} : { failure: scrubJson(failure, deps.scrub) }),
      ...{ steps, durationMs: Math.max(0, at - spawn.at), at },
    });
    await parent.flushed();
    actor.send({ type: 'reported' });
    end.resolve({ id: aid, title, end: kind, limit, answer: text, steps });
    await remote
      .forget(sid)
      .catch((error: unknown) => deps.log('a remote agent stays in Redis', { aid, error: String(error) }));
  };

  const broken = (error: unknown): void => {
    if (isLeft || here) return;
    deps.log('a remote agent cannot be followed', { agent: aid, error: String(error) });
    actor.send({ type: 'thread.lost', why: error instanceof Error ? error.message : String(error) });
  };

  const performNow = (effect: SubagentEffect): void => {
    if (isLeft) return;
    switch (effect.type) {
      case 'spawnLoop':
        return void begin().catch(broken);
      case 'cancelLoop':
        grace = setTimeout(() => actor.send({ type: 'grace.over' }), GRACE_MS);
        return void stop(effect.by).catch(broken);
      case 'dropLoop':
        isTaken = true;
        return void remote.take(sid).catch(() => {});
      case 'report':
        return void report(effect.end).catch(() => abandon());
      case 'noteUnexpected':
        return;
    }
  };
  const perform = (effect: SubagentEffect): void => queueMicrotask(() => performNow(effect));

  const abandon = (): void => {
    if (isLeft) return;
    isLeft = true;
    clearTimeout(grace);
    following.abort();
    putting?.abort();
    here?.abandon();
    end.reject(new Left());
  };

  const actor = startActor<SubagentEvent, SubagentEffect>(subagentMachine, { maxRespawns: 2 }, { perform });

  return {
    id: aid,
    background: spawn.background,
    cancel,
    say(text, by) {
      if (here) return here.say(text, by);
      const word = { k: 'say', text: deps.scrub(deps.clean(text)), by } as const;
      remote
        .tell(sid, word)
        .catch((error: unknown) => deps.log('an agent was not told', { aid, error: String(error) }));
    },
    abandon,
    end: end.promise,
  };
}

/** In the worker's session it is the first message. */
function ofMessage(event: JournalEvent, seq: number): JournalEvent {
  const named = (op: OpId): OpId => `${seq}.${op.slice(op.indexOf('.') + 1)}` as OpId;
  return {
    ...event,
    ...('op' in event && event.op !== undefined ? { op: named(event.op) } : {}),
    ...('seq' in event ? { seq } : {}),
    ...('calls' in event ? { calls: event.calls.map((call) => ({ ...call, op: named(call.op) })) } : {}),
  };
}

function scopesOf(scope: Scope): readonly Scope[] {
  const scopes: Scope[] = [];
  for (let at: Scope | null = scope; at !== null; at = at.parent) scopes.push(at);
  return scopes;
}

/** Which cap of the message, or of what it is in, is reached. */
function limitReached(scope: Scope | null): LimitKind | null {
  if (scope === null) return null;
  const { usd, tokens } = scope.spent();
  if (scope.caps.usd !== undefined && usd !== null && usd >= scope.caps.usd) return 'usd';
  if (scope.caps.tokens !== undefined && tokens >= scope.caps.tokens) return 'tokens';
  return limitReached(scope.parent);
}

/** Its own limits, and what is left of those that it is in. */
function within(limits: Limits, scope: Scope | null): RemoteOrder['limits'] {
  let { usd, tokens } = limits;
  for (let at = scope; at !== null; at = at.parent) {
    const spent = at.spent();
    if (at.caps.usd !== undefined && spent.usd !== null) {
      usd = Math.max(1e-9, Math.min(usd ?? Number.POSITIVE_INFINITY, at.caps.usd - spent.usd));
    }
    if (at.caps.tokens !== undefined) {
      tokens = Math.max(1, Math.min(tokens ?? Number.POSITIVE_INFINITY, at.caps.tokens - spent.tokens));
    }
  }
  return {
    maxSteps: limits.maxSteps,
    ...(usd === undefined ? {} : { usd }),
    ...(tokens === undefined ? {} : { tokens: Math.floor(tokens) }),
    ...(limits.timeoutMs === undefined ? {} : { timeoutMs: limits.timeoutMs }),
  };
}

const endOf = ({ end, limit, answer, failure, steps }: RemoteEnd): SubagentEnd => ({
  ...{ end, limit, answer, steps },
  failure: failure as Failure | null,
});

const NEVER_BEGUN: SubagentEnd = {
  ...{ end: 'cancelled', limit: null, answer: '[Cancelled before a worker began it.]', steps: 0 },
  failure: { kind: 'cancelled', code: 'agent_cancelled', message: 'Cancelled before a worker began it.' },
};
