// Where in a message the hooks come in (SPEC E5), all but those of a tool call. turn.ts calls these at the points they name; without
// hooks each is a test for null.

import type { LoopHooks } from '../../agent/loop-deps.ts';
import type { EventOf } from '../../shared/events.ts';
import { textOf } from '../../shared/messages.ts';
import { inlineOf } from '../../shared/payload.ts';
import type { LivePort } from '../../shared/ports.ts';
import type { TurnDeps, UnhookedTurnDeps } from '../turn.ts';
import { createHooks } from './run-hooks.ts';

/** What a turn works with, its hooks bound to this message. */
export function withHooks(given: UnhookedTurnDeps, start: EventOf<'msg.start'>): TurnDeps {
  const { userHooks, ...deps } = given;
  const hooks = createHooks(userHooks, {
    place: { session: deps.sid, seq: start.seq, mode: start.mode, root: deps.root },
    scrub: deps.scrub,
    clean: deps.clean,
    record: (event) => deps.record(event),
    now: deps.now,
  });
  const { observe } = hooks;
  if (!hooks.watchesDeltas || !observe) return { ...deps, hooks };
  const live: LivePort = {
    publish(event) {
      deps.live.publish(event);
      if (event.type !== 'text' && event.type !== 'thinking') return;
      observe('streamDelta', { step: stepOf(event.op), kind: event.type, delta: event.delta });
    },
  };
  return { ...deps, live, hooks };
}

export function createTurnHooks(
  deps: Pick<TurnDeps, 'hooks' | 'memory' | 'record' | 'now'>,
  start: EventOf<'msg.start'>,
): LoopHooks {
  const { observe, beforeLLM, done } = deps.hooks;
  const end = new AbortController();
  let step = 0;
  /** What the next request is to tell; it may take a compaction until there is one. */
  let note: string | null = null;

  return {
    async askModel({ op, turn, model }, call, signal) {
      // A retry, another model and a compacted context are the same step.
      if (turn === step || (!observe && !beforeLLM)) return call(note);
      step = turn;
      observe?.('stepStart', { step });
      if (!beforeLLM) return call(null);
      const name = [start.model, ...(start.fallbackModels ?? [])][model] ?? start.model;
      const { length: messages } = deps.memory.history.messages;
      const verdict = await beforeLLM({ step, model: name, messages }, signal);
      if (verdict.ok) {
        ({ note } = verdict.value);
        return call(note);
      }
      // Whoever cancelled has ended the message already.
      if (signal.aborted) return;
      deps.record({ type: 'llm.fail', op, failure: verdict.failure, at: deps.now() });
    },
    compacting({ op, why }) {
      observe?.('summarize', { step: stepOf(op), why });
    },
    recorded(event) {
      if (event.type === 'llm.req') note = null;
      if (!observe) return;
      if (event.type === 'llm.res') {
        const calls = event.calls.map((call) => ({ op: call.op, tool: call.name }));
        const { stop, usage } = event;
        const text = textOf(inlineOf(event.parts));
        observe('afterLLM', { step: stepOf(event.op), text, stop, usage, calls, failure: null });
      } else if (event.type === 'llm.fail') {
        const { op, failure } = event;
        observe('afterLLM', { step: stepOf(op), text: '', stop: null, usage: null, calls: [], failure });
      } else if (event.type === 'compact.done') {
        const { op, why, processors, tokensBefore, tokensAfter } = event;
        observe('historyChanged', { step: stepOf(op), why, processors, tokensBefore, tokensAfter });
      }
    },
    done: done && (({ status, answer, steps, failure }) => done({ status, answer, steps, failure }, end.signal)),
    abort: () => end.abort(),
  };
}

const stepOf = (op: string): number => Number(op.split('.')[1]);
