// One subagent in its thread: the agent's loop, with a port in the place of the orchestrator (DURABILITY 9). It orders the agent's events;
// what it records is folded here at once and goes over the port, and nothing that rests on it happens before it is acknowledged.

import { type MessagePort, threadId } from 'node:worker_threads';
import { Left, startLoop } from '../agent/loop.ts';
import type { ContextSettings, LoopDeps, LoopHooks, StartedCall } from '../agent/loop-deps.ts';
import { emptyAgentMemory, foldAgentMemory } from '../agent/memory.ts';
import { retryDelayMs } from '../agent/retry-delay.ts';
import { type KnownProvider, openProvider } from '../llm/known-providers.ts';
import {
  type AgentTask,
  FRAMES_VERSION,
  type HostFrame,
  type ThreadReplies,
  type ThreadRequest,
  type ThreadWord,
} from '../shared/agent-frames.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { JournalEvent } from '../shared/events.ts';
import { cancelled, UserError } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import { gatherDeltas } from './agent-deltas.ts';

/** Resolves when the loop has ended and said so, or when nobody listens any more. */
export async function runAgent(task: AgentTask, port: MessagePort): Promise<void> {
  const { aid, inc, start } = task;
  const say = (word: ThreadWord) => port.postMessage({ v: FRAMES_VERSION, aid, inc, ...word });
  const link = openLink(say);
  const memory = emptyAgentMemory(task.sid);
  memory.state = { ...memory.state, customInstructions: task.instructions, root: task.root };
  const past: readonly JournalEvent[] = [start, ...task.past];
  for (const event of past) foldAgentMemory(memory, event, '0-0');
  let { cached, near } = task;

  const deltas = gatherDeltas((events) => say({ k: 'live', events }));
  const record = (event: JournalEvent, echo?: number) => {
    if (event.type === 'llm.res' || event.type === 'llm.fail') deltas.drop();
    foldAgentMemory(memory, event, '0-0');
    link.recorded(event, echo);
    loop.onRecorded(event);
  };
  const deps = depsOf(task, memory, link, {
    record,
    cachedFiles: () => cached,
    near: () => near,
    settle: () => say({ k: 'settle' }),
    live: deltas,
  });
  const loop = startLoop(deps, {
    start,
    past,
    specs: task.specs,
    hooks: hooksOf(task, link),
    async startTools(calls): Promise<readonly StartedCall[]> {
      await link.flushed();
      void link.ask({ op: 'tools', calls });
      return [{ cancel: () => say({ k: 'cancelTools' }) }];
    },
  });

  port.on('message', (frame: HostFrame) => {
    switch (frame.k) {
      case 'evt':
        ({ cached } = frame);
        return record(frame.event, frame.id);
      case 'ack':
        ({ near } = frame);
        return link.acknowledged(frame.n);
      case 'res':
        return link.answered(frame.id, frame.body);
    }
  });
  port.once('close', () => {
    link.close();
    loop.abandon();
  });
  say({ k: 'up', thread: threadId });
  try {
    const end = await loop.end;
    await link.flushed();
    say({ k: 'end', end });
  } catch (error) {
    // Nobody waits for it, or it goes on elsewhere.
    if (!(error instanceof Left) && !(error instanceof Closed)) throw error;
  } finally {
    deltas.drop();
    port.close();
  }
}

interface Link {
  recorded(event: JournalEvent, echo: number | undefined): void;
  flushed(): Promise<void>;
  acknowledged(n: number): void;
  ask<R extends ThreadRequest>(body: R): Promise<ThreadReplies[R['op']]>;
  answered(id: number, body: unknown): void;
  close(): void;
}

class Closed extends Error {
  override readonly name = 'Closed';
}

function openLink(say: (word: ThreadWord) => void): Link {
  const waiting: { readonly n: number; readonly done: PromiseWithResolvers<void> }[] = [];
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  let recorded = 0;
  let durable = 0;
  let requests = 0;
  let isClosed = false;
  return {
    recorded(event, echo) {
      recorded += 1;
      say({ k: 'evt', n: recorded, event, ...(echo === undefined ? {} : { echo }) });
    },
    flushed() {
      if (isClosed) return Promise.reject(new Closed());
      if (durable >= recorded) return Promise.resolve();
      const done = Promise.withResolvers<void>();
      done.promise.catch(() => {});
      waiting.push({ n: recorded, done });
      return done.promise;
    },
    acknowledged(n) {
      durable = Math.max(durable, n);
      while (waiting[0] !== undefined && waiting[0].n <= durable) waiting.shift()?.done.resolve();
    },
    ask<R extends ThreadRequest>(body: R) {
      requests += 1;
      const reply = Promise.withResolvers<unknown>();
      reply.promise.catch(() => {});
      asked.set(requests, reply);
      say({ k: 'req', id: requests, body });
      return reply.promise as Promise<ThreadReplies[R['op']]>;
    },
    answered(id, body) {
      asked.get(id)?.resolve(body);
      asked.delete(id);
    },
    close() {
      isClosed = true;
      for (const { done } of waiting.splice(0)) done.reject(new Closed());
      for (const reply of asked.values()) reply.reject(new Closed());
    },
  };
}

/** A thread's agents share their models' clients: they hold no state of a conversation, and hundreds of them much memory. */
const clients = new Map<string, Promise<ModelProvider>>();

function sharedProvider(provider: KnownProvider): Promise<ModelProvider> {
  const key = JSON.stringify(provider);
  const open = clients.get(key) ?? openProvider(provider);
  clients.set(key, open);
  return open;
}

interface Own {
  record(event: JournalEvent): void;
  cachedFiles: LoopDeps['cachedFiles'];
  near(): string | null;
  settle(): void;
  readonly live: LoopDeps['live'];
}

function depsOf(task: AgentTask, memory: LoopDeps['memory'], link: Link, own: Own): LoopDeps {
  const modelOf = (name: string) => {
    const model = task.models[name];
    if (model === undefined) throw new UserError(`${name} cannot be asked by this agent: it was not started with it.`);
    return model;
  };
  const record = (event: JournalEvent) => own.record(event);
  return {
    sid: task.sid,
    root: task.root,
    role: task.role,
    memory,
    record,
    recorder: { record, flushed: link.flushed },
    live: own.live,
    // The orchestrator takes secrets out where an event comes to it.
    scrub: (text) => text,
    clean: cleanText,
    async provider(name) {
      return sharedProvider(modelOf(name).provider as KnownProvider);
    },
    maxOutputTokens: (name) => modelOf(name).maxOutputTokens,
    contextWindow: (name) => modelOf(name).window,
    contextSettings: task.context as ContextSettings,
    budget: {
      plannerRoom: async ({ model, inputTokens, maxOutputTokens }) => {
        await link.flushed();
        const { base } = memory.tokens;
        return link.ask({ op: 'room', model, inputTokens, maxOutputTokens, base });
      },
      settlePlanner: own.settle,
      near: own.near,
      // The orchestrator keeps the time.
      startClock: () => () => {},
    },
    recount() {},
    smallModel: {
      complete: async (prompt, signal) => {
        if (signal.aborted) return cancelled();
        const stopped = Promise.withResolvers<ReturnType<typeof cancelled>>();
        const stop = () => stopped.resolve(cancelled());
        signal.addEventListener('abort', stop, { once: true });
        try {
          return await Promise.race([link.ask({ op: 'small', prompt }), stopped.promise]);
        } finally {
          signal.removeEventListener('abort', stop);
        }
      },
    },
    stepTimeoutMs: task.stepTimeoutMs,
    retryDelayMs,
    cachedFiles: own.cachedFiles,
    now: Date.now,
  };
}

/** The orchestrator has the hooks; it tells the observers when it records. */
function hooksOf({ asksHooks, start }: AgentTask, link: Link): LoopHooks {
  let asked = 0;
  let note: string | null = null;
  return {
    async askModel({ op, turn, model }, call, signal) {
      if (!asksHooks || turn === asked) return call(note);
      asked = turn;
      const name = [start.model, ...(start.fallbackModels ?? [])][model] ?? start.model;
      const verdict = await link.ask({ op: 'before', opId: op, step: turn, model: name, messages: turn });
      if (verdict === null || signal.aborted) return;
      ({ note } = verdict);
      return call(note);
    },
    compacting() {},
    recorded(event) {
      if (event.type === 'llm.req') note = null;
    },
    done: null,
    abort() {},
  };
}
