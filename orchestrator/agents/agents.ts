// The subagents of one message (SPEC O19, O25): starts them within their parent's rights, has those of a crash go on, and sees to it that
// the message does not end before they do. A call's agent is named after the call: made again, it is the same agent.

import { Left } from '../../agent/loop.ts';
import type { LoopEnd } from '../../agent/loop-deps.ts';
import { type OpenAgent, openAgents } from '../../shared/agents.ts';
import type { AgentOrder, AgentReport, AgentsPort } from '../../shared/agents-port.ts';
import type { EventOf, JournalEvent } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import type { Limits } from '../../shared/limits.ts';
import type { Mode } from '../../shared/modes.ts';
import { cancelled, fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { AgentResult } from '../../shared/state.ts';
import { getModeTools } from '../../tools/registry.ts';
import { startAgent } from './agent-host.ts';
import type { AgentHost, AgentHostDeps } from './host-port.ts';

export interface Agents extends AgentsPort {
  /** Waits for those that still work, or ends them when the message did not come to its own end; what they gave is added to its answer. */
  settle(end: LoopEnd): Promise<LoopEnd>;
  cancelAll(by: string): void;
  /** Whether the agent works; then it is cancelled, or told. */
  cancel(id: string, by: string): boolean;
  say(id: string, text: string, by: string): boolean;
  abandon(): void;
}

/** At work at the same time for one message. */
const MAX_AGENTS = 64;
const MAX_NOTE_CHARS = 500;

export function createAgents(
  deps: AgentHostDeps & {
    /** The process leaves the message: its calls are aborted, and nobody has cancelled anything. */
    isLeft(): boolean;
    now(): number;
  },
  start: EventOf<'msg.start'>,
  past: readonly JournalEvent[],
): Agents {
  const { parent, supplies } = deps;
  const hosts = new Map<string, AgentHost>();

  const host = (agent: AgentHost): void => {
    hosts.set(agent.id, agent);
    agent.end.then(
      () => hosts.delete(agent.id),
      () => hosts.delete(agent.id),
    );
  };
  const isForWorker = ({ spawn, placed }: OpenAgent): boolean =>
    spawn.where === 'remote' && (placed === null || placed.worker !== null);
  for (const open of openAgents(past)) {
    if (isForWorker(open)) host(startWithWorker(deps, open));
    else host(startAgent(deps, open.spawn, open.events));
  }

  /** Whether it goes to a worker; a line says so when it was to and cannot. */
  const goesToWorker = async (spawn: EventOf<'agent.spawn'>): Promise<boolean> => {
    const file = supplies.files().find(({ name }) => name === spawn.kind);
    const remote = await supplies.remote();
    if ((file?.where ?? (remote?.isPreferred ? 'remote' : 'local')) !== 'remote') return false;
    if (await remote?.isServed(spawn.mode)) return true;
    const text = `No worker takes agents of this project now: ${spawn.title} works here.`;
    parent.record({ type: 'update', seq: start.seq, text, at: deps.now() });
    return false;
  };

  const spawnOf = (aid: string, op: OpId, order: AgentOrder, background: boolean): Outcome<EventOf<'agent.spawn'>> => {
    const file = order.kind === undefined ? null : supplies.files().find(({ name }) => name === order.kind);
    if (file === undefined) {
      const names = supplies.files().map(({ name }) => name);
      return invalid(
        `There is no custom agent ${JSON.stringify(order.kind)}. There are: ${names.join(', ') || 'none'}.`,
      );
    }
    const modes = [order.mode, file?.mode ?? undefined].filter((mode) => mode !== undefined);
    if (order.mode !== undefined && isWider(order.mode, start.mode)) {
      return invalid(`In ${start.mode} mode no agent can work in ${order.mode} mode. Leave the mode out.`);
    }
    const mode = [start.mode, ...modes].reduce(narrower);
    const has = getModeTools(mode, true).map(({ name }) => name);
    const unknown = order.tools?.find((name) => !has.includes(name));
    if (unknown !== undefined) {
      return invalid(
        `An agent in ${mode} mode has no tool ${JSON.stringify(unknown)}. It can have: ${has.join(', ')}.`,
      );
    }
    const tools = has.filter((name) => (order.tools?.includes(name) ?? true) && (file?.tools?.includes(name) ?? true));
    if (tools.length === 0)
      return invalid(`No tool is left for this agent. In ${mode} mode there are: ${has.join(', ')}.`);
    const model = order.model ?? file?.model ?? start.model;
    if (!canReach(model)) {
      return invalid(`The model ${model} cannot be asked here. Leave the model out, or name one as provider/name.`);
    }
    const fallbackModels = (model === start.model ? (start.fallbackModels ?? []) : []).filter(canReach);
    return ok({
      ...{ type: 'agent.spawn', aid, op, seq: start.seq, title: order.title, mode, background, tools, model },
      ...(order.kind === undefined ? {} : { kind: order.kind }),
      prompt: { inline: order.prompt },
      role: [SUBAGENT_ROLE, file?.role ?? ''].filter((part) => part !== '').join('\n\n'),
      smallModel: start.smallModel,
      ...(fallbackModels.length === 0 ? {} : { fallbackModels }),
      limits: limitsOf(start.limits, order),
      at: deps.now(),
    });
  };

  const canReach = (model: string): boolean => {
    try {
      return supplies.access(model) !== null;
    } catch {
      return false;
    }
  };

  const agents: Agents = {
    async start(op, order, background) {
      const aid = agentIdOf(op);
      const isKnown = () => hosts.has(aid) || parent.memory.state.agentResults.some(({ id }) => id === aid);
      if (isKnown()) return ok(aid);
      if (hosts.size >= MAX_AGENTS) {
        return fail('failed', 'too_many_agents', `${MAX_AGENTS} agents work already. Wait for some of them to end.`);
      }
      const wanted = spawnOf(aid, op, order, background);
      if (!wanted.ok) return wanted;
      const isRemote = await goesToWorker(wanted.value);
      if (deps.isLeft()) return cancelled();
      if (isKnown()) return ok(aid);
      const spawn = isRemote ? ({ ...wanted.value, where: 'remote' } as const) : wanted.value;
      parent.record(spawn);
      host(isRemote ? startWithWorker(deps, { spawn, events: [], placed: null }) : startAgent(deps, spawn, []));
      return ok(aid);
    },
    async result(id, signal) {
      const agent = hosts.get(id);
      if (!agent) return ended(id);
      const stopped = Promise.withResolvers<null>();
      const stop = () => {
        // One in the background only loses whoever waited for it.
        if (agent.background || deps.isLeft()) return stopped.resolve(null);
        agent.cancel('parent');
      };
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      try {
        const report = await Promise.race([agent.end, stopped.promise]);
        return report === null ? cancelled() : ok(report);
      } catch (error) {
        if (error instanceof Left) return cancelled();
        throw error;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    async settle(end) {
      if (end.status !== 'completed') agents.cancelAll('parent');
      await Promise.all([...hosts.values()].map((agent) => agent.end));
      if (end.status !== 'completed') return end;
      // The planner has not heard of these; it is told with the next message.
      const { state, told } = parent.memory;
      const unheard = state.agentResults.filter(
        ({ id, background }) => background && id.startsWith(`a${start.seq}-`) && !told.has(`ended:${id}`),
      );
      return { ...end, answer: [end.answer, ...unheard.map(noteOf)].join('\n\n') };
    },
    cancelAll(by) {
      for (const agent of hosts.values()) agent.cancel(by);
    },
    cancel(id, by) {
      hosts.get(id)?.cancel(by);
      return hosts.has(id);
    },
    say(id, text, by) {
      hosts.get(id)?.say(text, by);
      return hosts.has(id);
    },
    abandon() {
      for (const agent of hosts.values()) agent.abandon();
    },
  };

  const ended = (id: string): Outcome<AgentReport> => {
    const result = parent.memory.state.agentResults.find((one) => one.id === id);
    if (result) {
      const { title, end, limit, text: answer, steps } = result;
      return ok({ id, title, end, limit, answer, steps });
    }
    const ids = [...hosts.keys(), ...parent.memory.state.agentResults.map((one) => one.id)];
    return invalid(`There is no agent ${JSON.stringify(id)}. There are: ${ids.join(', ') || 'none'}.`);
  };

  return agents;
}

/** Its side of the worker is loaded when it is needed; until then what is said to it waits. */
function startWithWorker(deps: AgentHostDeps, open: OpenAgent): AgentHost {
  const startHere = () => startAgent(deps, open.spawn, []);
  const opened = Promise.all([import('./remote/remote-host.ts'), deps.supplies.remote()]).then(
    // Without the key of the jobs no worker can be there.
    ([{ startRemoteAgent }, remote]) => (remote ? startRemoteAgent(deps, remote, open, startHere) : startHere()),
  );
  // Whoever waits for its end hears why it could not begin.
  const later = (use: (host: AgentHost) => void): void => void opened.then(use, () => {});
  return {
    id: open.spawn.aid,
    background: open.spawn.background,
    cancel: (by) => later((host) => host.cancel(by)),
    say: (text, by) => later((host) => host.say(text, by)),
    abandon: () => later((host) => host.abandon()),
    end: opened.then((host) => host.end),
  };
}

const agentIdOf = (op: OpId): string => `a${op.replaceAll('.', '-')}`;

const SUBAGENT_ROLE = `You are a subagent: another agent has given you one part of its work. It sees nothing of what you do but your last answer, so put all that it asked for into it: what you found or changed, with places as path:line, and what you could not do. Nobody answers questions of yours; decide what is open and say how you decided. Other agents may change other files of this repository at the same time: leave alone what is not your task.`;

/** ask and plan change nothing; edit may. */
const isWider = (mode: Mode, than: Mode): boolean => mode === 'edit' && than !== 'edit';
const narrower = (a: Mode, b: Mode): Mode => (isWider(b, a) ? a : b);

/** An agent's own limits, never beyond its parent's. Money, tokens and time of the parent hold in any case: it spends within them. */
function limitsOf(parent: Limits, { budget = {} }: AgentOrder): Limits {
  const { maxSteps, usd, tokens, timeoutMs } = budget;
  return {
    maxSteps: Math.min(maxSteps ?? parent.maxSteps, parent.maxSteps),
    ...(usd === undefined ? {} : { usd }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function noteOf({ id, title, end, limit, text: answer }: AgentResult): string {
  const how = limit === null ? end : `${end} (${limit})`;
  const text = answer.length > MAX_NOTE_CHARS ? `${answer.slice(0, MAX_NOTE_CHARS)}…` : answer;
  return `[Background agent ${id}, ${title}: ${how}]\n${text}`;
}

const invalid = (message: string) => fail('invalid', 'bad_agent', message);
