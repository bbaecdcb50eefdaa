// A subagent on the orchestrator's side (DURABILITY 9): it journals what the agent's thread records, runs its tools, keeps its budget and
// asks its questions. What it has to add to the agent's events goes through the thread, which orders them; when the thread is lost it
// orders them itself, and has the loop go on in another from what is journaled.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { Left } from '../../agent/loop.ts';
import { foldState } from '../../agent/state.ts';
import { startActor } from '../../machines/host.ts';
import type { SubagentEffect, SubagentEnd, SubagentEvent } from '../../machines/subagent/events.ts';
import { subagentMachine } from '../../machines/subagent/machine.ts';
import {
  type AgentTask,
  FRAMES_VERSION,
  type HostWord,
  type ThreadFrame,
  type ThreadRequest,
} from '../../shared/agent-frames.ts';
import { agentStart } from '../../shared/agents.ts';
import type { AgentReport } from '../../shared/agents-port.ts';
import { type Tool, toolSpec } from '../../shared/define-tool.ts';
import type { EventOf, JournalEvent, ToolCallSummary } from '../../shared/events.ts';
import { toolCallsOf } from '../../shared/messages.ts';
import { ok } from '../../shared/outcome.ts';
import { inlineOf } from '../../shared/payload.ts';
import { scrubJson } from '../../shared/scrub.ts';
import { seenFilesOf } from '../files/seen-files.ts';
import { createTurnHooks } from '../hooks/turn-hooks.ts';
import type { SessionMemory } from '../session-memory.ts';
import type { RunningCall } from '../tool-call.ts';
import { startToolStep } from '../tool-step.ts';
import { agentDeps, agentMemory, agentSid } from './agent-deps.ts';
import { agentDone, agentReport, endOfLoop } from './agent-end.ts';
import type { AgentHost, AgentHostDeps } from './host-port.ts';

interface Link {
  readonly port: MessagePort;
  readonly inc: number;
  /** Sent to the thread to be recorded, not back yet. */
  readonly pending: Map<number, JournalEvent>;
  thread: number;
}

/** Threads that may be lost under an agent before it counts as crashed. */
const MAX_RESPAWNS = 2;
/** A cancelled loop has to end within this: its calls have time limits for that of their own. */
const GRACE_MS = 15_000;

/** Starts an agent, or goes on with one whose own events (`past`) are in the journal. */
export function startAgent(
  { parent, supplies, scope }: AgentHostDeps,
  spawn: EventOf<'agent.spawn'>,
  past: readonly JournalEvent[],
): AgentHost {
  const { aid, mode } = spawn;
  const sid = agentSid(parent.sid, aid);
  const start = agentStart(spawn);
  const events: JournalEvent[] = [...past];
  const memory = agentMemory(sid, parent.memory);
  const end = Promise.withResolvers<AgentReport>();
  end.promise.catch(() => {});
  const modelAbort = new AbortController();
  const toolsAbort = new AbortController();
  const running = new Map<string, RunningCall>();
  let echoes: (() => void)[] = [];
  let link: Link | null = null;
  let sent = 0;
  let isLeft = false;
  let grace: NodeJS.Timeout | undefined;

  const own = supplies.forAgent(
    sid,
    mode,
    () => memory.state.todos,
    () => seenFilesOf(past),
  );
  const tools: readonly Tool[] = own.tools(mode).filter(({ name }) => spawn.tools.includes(name));

  /** What the main side adds to the agent's events. */
  const record = (event: JournalEvent): void => {
    if (isLeft) return;
    if (!link) return journal(event);
    sent += 1;
    link.pending.set(sent, event);
    post({ k: 'evt', id: sent, event, cached: own.cachedFiles() });
  };

  const flushed = async (): Promise<void> => {
    while (link !== null && link.pending.size > 0) await new Promise<void>((resolve) => echoes.push(resolve));
    await parent.flushed();
  };

  const deps = agentDeps({ parent, scope }, spawn, { supplies: own, memory, past, record, flushed });
  const hooks = createTurnHooks(deps, start);

  /** The one way into the journal. */
  const journal = (event: JournalEvent): void => {
    events.push(event);
    foldLight(memory, event);
    hooks.recorded(event);
    parent.record({ type: 'agent.ev', aid, event, at: event.at ?? deps.now() });
  };
  for (const event of [start, ...past]) foldLight(memory, event);

  const post = (word: HostWord, to: Link | null = link): void =>
    to?.port.postMessage({ v: FRAMES_VERSION, aid, inc: to.inc, ...word });

  const take = (from: Link, frame: ThreadFrame): void => {
    if (isLeft || link !== from || frame.v !== FRAMES_VERSION || frame.inc !== from.inc) return;
    switch (frame.k) {
      case 'up':
        from.thread = frame.thread;
        return actor.send({ type: 'loop.started' });
      case 'evt':
        if (frame.echo !== undefined) from.pending.delete(frame.echo);
        journal(frame.event.type === 'llm.fail' ? scrubJson(frame.event, deps.scrub) : frame.event);
        if (from.pending.size === 0) allEchoed();
        return acknowledge(from, frame.n);
      case 'req':
        return void answer(frame.body).then(
          (body) => post({ k: 'res', id: frame.id, body }, from),
          (error: unknown) => deps.log('a request of an agent failed', { agent: aid, error: String(error) }),
        );
      case 'live':
        for (const event of frame.events) deps.live.publish(event);
        return;
      case 'cancelTools':
        return cancelTools();
      case 'settle':
        return deps.budget.settlePlanner();
      case 'end':
        drop();
        return actor.send({ type: 'loop.ended', end: endOfLoop(frame.end) });
    }
  };

  let toAcknowledge = 0;
  let isFlushing = false;
  const acknowledge = (to: Link, n: number): void => {
    toAcknowledge = n;
    if (isFlushing) return;
    isFlushing = true;
    const flush = async (): Promise<void> => {
      for (let done = 0; link === to && done < toAcknowledge; ) {
        const upTo = toAcknowledge;
        await parent.flushed();
        post({ k: 'ack', n: upTo, near: deps.budget.near() }, to);
        done = upTo;
      }
    };
    flush()
      // The journal is no longer ours: the parent's turn ends of the same.
      .catch(() => abandon())
      .finally(() => {
        isFlushing = false;
        if (link !== null && link !== to && toAcknowledge > 0) acknowledge(link, toAcknowledge);
      });
  };

  const answer = async (request: ThreadRequest): Promise<unknown> => {
    switch (request.op) {
      case 'tools':
        await runTools(request.calls);
        return null;
      case 'room': {
        const { base } = request;
        memory.tokens = { ...memory.tokens, base: base === null ? null : { ...base, mode, messages: 0 } };
        return deps.budget.plannerRoom(request, modelAbort.signal);
      }
      case 'small': {
        const outcome = await deps.smallModel.complete(request.prompt, modelAbort.signal);
        return outcome.ok ? ok(deps.scrub(deps.clean(outcome.value))) : scrubJson(outcome, deps.scrub);
      }
      case 'before':
        return beforeModel(request);
    }
  };

  const beforeModel = async ({ opId, step, model, messages }: Extract<ThreadRequest, { readonly op: 'before' }>) => {
    deps.hooks.observe?.('stepStart', { step });
    if (!deps.hooks.beforeLLM) return { note: null };
    const verdict = await deps.hooks.beforeLLM({ step, model, messages }, modelAbort.signal);
    if (verdict.ok) return { note: verdict.value.note };
    const op = opId as EventOf<'llm.fail'>['op'];
    if (!modelAbort.signal.aborted) record({ type: 'llm.fail', op, failure: verdict.failure, at: deps.now() });
    return null;
  };

  let starting: Promise<unknown> = Promise.resolve();

  /** One step after the other: what a lost thread had asked for last may still begin when the new one asks for the same. */
  const runTools = (calls: readonly ToolCallSummary[]): Promise<void> => {
    const started = starting.then(() => startTools(calls));
    starting = started.catch(() => {});
    return started;
  };

  /** Those of an earlier thread go on, the new one hears of their ends; some of these may be on their way to it. */
  const startTools = async (calls: readonly ToolCallSummary[]): Promise<void> => {
    const fresh = calls.filter(({ op }) => !running.has(op));
    const known = [...events, ...(link?.pending.values() ?? [])];
    for (const call of await startToolStep(deps, start, tools, fresh, known, toolsAbort.signal)) {
      running.set(call.call.op, call);
      void call.settled.then(() => running.delete(call.call.op));
    }
    if (toolsAbort.signal.aborted) cancelTools();
  };

  const cancelTools = (): void => {
    toolsAbort.abort();
    for (const call of running.values()) call.cancel();
  };

  const allEchoed = (): void => {
    const waiting = echoes;
    echoes = [];
    for (const resolve of waiting) resolve();
  };

  /** Nothing that the thread says counts from here on; what it was to record is recorded here. */
  const drop = (): void => {
    const old = link;
    link = null;
    if (!old) return;
    old.port.close();
    if (!isLeft) for (const event of old.pending.values()) journal(event);
    old.pending.clear();
    allEchoed();
  };

  const spawnLoop = (inc: number): void => {
    const { port1, port2 } = new MessageChannel();
    const mine: Link = { port: port1, inc, pending: new Map(), thread: -1 };
    link = mine;
    toAcknowledge = 0;
    port1.on('message', (frame: ThreadFrame) => take(mine, frame));
    const lost = (why: string): void => {
      // What it had said is heard first.
      for (let said = receiveMessageOnPort(port1); said !== undefined; said = receiveMessageOnPort(port1)) {
        take(mine, said.message as ThreadFrame);
      }
      if (link !== mine) return;
      drop();
      if (supplies.threads.wasSilent(mine.thread)) actor.send({ type: 'thread.silent' });
      deps.log('the thread of an agent was lost', { agent: aid, why });
      actor.send({ type: 'thread.lost', why });
    };
    supplies.threads.run(taskOf(inc), port2).then(
      () => lost('it ended without a word'),
      (error: unknown) => lost(error instanceof Error ? error.message : String(error)),
    );
  };

  const taskOf = (inc: number): AgentTask => {
    const modelOf = (model: string) => ({
      provider: supplies.access(model),
      window: deps.contextWindow(model),
      maxOutputTokens: deps.maxOutputTokens(model),
    });
    const names = new Set([spawn.model, spawn.smallModel, ...(spawn.fallbackModels ?? [])]);
    return {
      ...{ aid, inc, sid, root: parent.root, start, past: [...events] },
      specs: tools.map(toolSpec),
      instructions: parent.memory.state.customInstructions,
      role: spawn.role ?? '',
      models: Object.fromEntries([...names].map((name) => [name, modelOf(name)])),
      context: deps.contextSettings,
      stepTimeoutMs: deps.stepTimeoutMs,
      cached: own.cachedFiles(),
      near: deps.budget.near(),
      asksHooks: deps.hooks.beforeLLM !== null || deps.hooks.observe !== null,
    };
  };

  const report = async (ended: SubagentEnd): Promise<void> => {
    clearTimeout(grace);
    stopClock();
    modelAbort.abort();
    cancelTools();
    await Promise.all([...running.values()].map(({ settled }) => settled));
    deps.budget.settlePlanner();
    if (isLeft) return;
    await supplies.ended(sid);
    const steps = memory.state.messages.at(-1)?.steps ?? ended.steps;
    const told = { ...ended, steps };
    parent.record(agentDone(spawn, told, { scrub: deps.scrub, at: deps.now() }));
    await parent.flushed();
    actor.send({ type: 'reported' });
    end.resolve(agentReport(spawn, told));
  };

  const perform = (effect: SubagentEffect): void => queueMicrotask(() => performNow(effect));

  const performNow = (effect: SubagentEffect): void => {
    if (isLeft) return;
    switch (effect.type) {
      case 'spawnLoop':
        return spawnLoop(effect.inc);
      case 'cancelLoop':
        grace = setTimeout(() => actor.send({ type: 'grace.over' }), GRACE_MS);
        modelAbort.abort();
        return record({ type: 'cancel', seq: spawn.seq, by: effect.by, at: deps.now() });
      case 'dropLoop':
        return drop();
      case 'report':
        return void report(effect.end).catch(() => abandon());
      case 'noteUnexpected':
        return;
    }
  };

  const abandon = (): void => {
    if (isLeft) return;
    isLeft = true;
    clearTimeout(grace);
    stopClock();
    modelAbort.abort();
    cancelTools();
    drop();
    end.reject(new Left());
  };

  const actor = startActor<SubagentEvent, SubagentEffect>(subagentMachine, { maxRespawns: MAX_RESPAWNS }, { perform });
  const stopClock = deps.budget.startClock(() => actor.isDone());

  return {
    id: aid,
    background: spawn.background,
    cancel: (by) => actor.send({ type: 'cancel.requested', by }),
    say: (text, by) => record({ type: 'word', seq: spawn.seq, text: deps.scrub(deps.clean(text)), by, at: deps.now() }),
    abandon,
    end: end.promise,
  };
}

function foldLight(memory: SessionMemory, event: JournalEvent): void {
  memory.state = foldState(memory.state, { id: '0-0', event });
  if (event.type !== 'llm.res') return;
  memory.history = { ...memory.history, open: { calls: toolCallsOf(inlineOf(event.parts)), results: {} } };
}
