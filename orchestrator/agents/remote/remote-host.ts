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
import type { JournalEvent } from '../../../shared/events.ts';
import type { LimitKind } from '../../../shared/limits.ts';
import type { Failure } from '../../../shared/outcome.ts';
import { tokensIn } from '../../../shared/spending.ts';
import type { Amount } from '../../budget/ledger.ts';
import { seenFilesOf } from '../../files/seen-files.ts';
import { agentDeps, agentMemory, agentSid } from '../agent-deps.ts';
import { agentDone, agentReport } from '../agent-end.ts';
import type { AgentHost, AgentHostDeps } from '../host-port.ts';
import { isCapped, limitsWithin, meterCalls } from './metered-calls.ts';
import type { RemoteEnd, RemoteOrder, RemoteWord } from './order.ts';
import { relayQuestions } from './relayed-questions.ts';
import type { Heard, RemoteAgents } from './remote-agents.ts';
import { takeOver } from './take-over.ts';
import { workersEvent } from './workers-event.ts';

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
  const { aid, seq } = spawn;
  const sid = agentSid(parent.sid, aid);
  const start = agentStart(spawn);
  const memory = agentMemory(sid, parent.memory);
  const end = Promise.withResolvers<AgentReport>();
  end.promise.catch(() => {});
  const following = new AbortController();
  let events: JournalEvent[] = [...past];
  let attempt = placed?.attempt ?? 0;
  let worker = placed?.worker ?? '';
  let heard = past.filter(isWorkers).length;
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
  /** It was begun, and nobody runs it now: no call is under way. */
  let isIdle = false;
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
  const deps = agentDeps({ parent, scope }, spawn, {
    ...{ supplies: own, memory, past, record },
    flushed: () => parent.flushed(),
  });
  for (const event of [start, ...past]) memory.state = foldState(memory.state, { id: '0-0', event });

  const spent = (): Amount => {
    const spending = memory.state.messages.at(-1)?.spending ?? {};
    return { usd: deps.models.costOf(spending), tokens: tokensIn(spending) };
  };

  const broken = (error: unknown): void => {
    if (isLeft || here) return;
    deps.log('a remote agent cannot be followed', { agent: aid, error: String(error) });
    actor.send({ type: 'thread.lost', why: error instanceof Error ? error.message : String(error) });
  };
  const tell = (word: RemoteWord): Promise<void> => remote.tell(sid, word);
  const questions = relayQuestions({ ...deps, tell, broken });
  const calls = meterCalls(
    {
      budget: deps.budget,
      maxOutputTokens: (model) => deps.maxOutputTokens(model),
      tell,
      placed: () => attempt,
      hit(limit) {
        overLimit ??= limit;
        if (cancelledBy === null) cancel('the budget of the message');
      },
      broken,
    },
    () => order?.metered === true,
  );
  /** Nobody waits for an answer any more, and no call is under way. */
  const quiet = (): void => {
    questions.close();
    calls.close();
  };

  /** An event of the worker's journal: it is journaled here as the agent's own, and what it cost is the message's too. */
  const mirror = (said: JournalEvent): void => {
    const own = workersEvent(said, seq);
    const event = own.type === 'perm.ask' ? questions.taken(own, worker) : own;
    const before = spent();
    record(event);
    const after = spent();
    const usd = after.usd === null || before.usd === null ? null : after.usd - before.usd;
    calls.follow(event, { usd, tokens: after.tokens - before.tokens });
    questions.follow(event);
  };

  const take = ({ attempt: of, n, entry }: Heard): void => {
    switch (entry.k) {
      case 'placed':
        if (of <= attempt) return;
        quiet();
        [attempt, heard, events, isBegun, isIdle, worker] = [of, 0, [], true, false, entry.worker];
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
    if (isLeft || here || cancelledBy !== null) return;
    if (isBegun && standing !== 'runs') {
      // What it holds of the budget another may wait for, on whom the only worker that is there waits.
      calls.close();
      isIdle = true;
    } else if (isIdle) {
      calls.resume(events);
      isIdle = false;
    }
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
    quiet();
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
      limits: limitsWithin(spawn.limits, deps.budget.scope.parent),
      metered: isCapped(deps.budget.scope.parent),
      attempt,
    });
    if (isLeft) return;
    if (!ordered.ok) return workHere(ordered.failure.message);
    order = ordered.value;
    if (isBegun) actor.send({ type: 'loop.started' });
    if (cancelledBy !== null) await stop(cancelledBy);
    else {
      questions.resume(events);
      calls.resume(events);
    }
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
    quiet();
    const steps = memory.state.messages.at(-1)?.steps ?? ended.steps;
    let told: SubagentEnd | null = { ...ended, steps };
    if (ended.end === 'cancelled' && overLimit !== null) told = { ...told, end: 'limit', limit: overLimit };
    const patch = isTaken ? null : (last?.patch ?? null);
    if (patch !== null && order !== null) {
      putting = new AbortController();
      // Its own end was quicker than the word; what a budget has cancelled is taken over as far as it came.
      if (cancelledBy !== null && overLimit === null) putting.abort();
      const { signal } = putting;
      told = await takeOver(deps, { remote, order, spawn, patch, signal, past: () => events }, told);
      if (isLeft || told === null) return;
    }
    told = { ...told, answer: deps.clean(told.answer) };
    parent.record(agentDone(spawn, told, { scrub: deps.scrub, at: deps.now() }));
    await parent.flushed();
    actor.send({ type: 'reported' });
    end.resolve(agentReport(spawn, told));
    await remote
      .forget(sid)
      .catch((error: unknown) => deps.log('a remote agent stays in Redis', { aid, error: String(error) }));
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
    quiet();
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
      tell(word).catch((error: unknown) => deps.log('an agent was not told', { aid, error: String(error) }));
    },
    abandon,
    end: end.promise,
  };
}

/** Of the worker's journal; the answers and the patch are of this side. */
const isWorkers = (event: JournalEvent): boolean => event.type !== 'perm.answer' && !isPatchEvent(event);

const endOf = ({ end, limit, answer, failure, steps }: RemoteEnd): SubagentEnd => ({
  ...{ end, limit, answer, steps },
  failure: failure as Failure | null,
});

const NEVER_BEGUN: SubagentEnd = {
  ...{ end: 'cancelled', limit: null, answer: '[Cancelled before a worker began it.]', steps: 0 },
  failure: { kind: 'cancelled', code: 'agent_cancelled', message: 'Cancelled before a worker began it.' },
};
