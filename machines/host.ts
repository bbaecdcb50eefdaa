// Runs a machine as an actor without giving it a life of its own (SPEC C1, ARCHITECTURE 5): a mailbox, the pure transition,
// and the hand-over of its effect requests. It does no I/O: performing effects and journaling are the ports' work.
//
// Invariants: events are taken one at a time, in the order sent; effects are requested in the order of the actions;
// an effect's result comes back as an event through `send`, never by a return value.

import type { AnyStateMachine } from 'xstate';
import { firstStep, nextStep, type Snapshot } from './step.ts';

export interface ActorPorts<Effect> {
  /** Starts an effect. Must not throw. */
  perform(effect: Effect): void;
  /** An event that the current state has no use for. For the log; harms nothing. */
  unexpected?(state: string, eventType: string): void;
}

export interface Actor<Event> {
  send(event: Event): void;
  /** Name of the current state. */
  state(): string;
  isDone(): boolean;
}

interface EffectAction {
  readonly type: string;
  readonly params?: unknown;
}

/** Starts an actor at its machine's initial state and performs that state's entry effects. */
export function startActor<Event extends { readonly type: string }, Effect extends { readonly type: string }>(
  machine: AnyStateMachine,
  input: unknown,
  ports: ActorPorts<Effect>,
): Actor<Event> {
  const [initial, actions] = firstStep(machine, input);
  return runActor(machine, initial, actions, ports);
}

/**
 * Continues an actor from its journaled events: folds them without performing anything, then performs what the last
 * transition that asked for anything asked for. A machine asks on entering a state and then waits there, so that is
 * exactly what no journaled event has answered; a port that finds part of it done already does the rest.
 */
export function resumeActor<Event extends { readonly type: string }, Effect extends { readonly type: string }>(
  machine: AnyStateMachine,
  input: unknown,
  past: readonly Event[],
  ports: ActorPorts<Effect>,
): Actor<Event> {
  let [snapshot, actions] = firstStep(machine, input);
  let open = actions;
  for (const event of past) {
    [snapshot, actions] = nextStep(machine, snapshot, event);
    // An event that a state had no use for, such as the failure of a call that a cancel has ended, asks for nothing.
    if (effectsOf(actions).some(({ type }) => type !== 'noteUnexpected')) open = actions;
  }
  return runActor(machine, snapshot, open, ports);
}

function runActor<Event extends { readonly type: string }, Effect extends { readonly type: string }>(
  machine: AnyStateMachine,
  start: Snapshot,
  firstActions: readonly EffectAction[],
  ports: ActorPorts<Effect>,
): Actor<Event> {
  let snapshot = start;
  const mailbox: Event[] = [];
  let busy = true;
  const perform = (actions: readonly EffectAction[], eventType: string) => {
    for (const effect of effectsOf<Effect>(actions)) {
      if (effect.type === 'noteUnexpected') ports.unexpected?.(snapshot.value, eventType);
      else ports.perform(effect);
    }
  };
  const drain = () => {
    for (let event = mailbox.shift(); event !== undefined; event = mailbox.shift()) {
      const [next, actions] = nextStep(machine, snapshot, event);
      snapshot = next;
      perform(actions, event.type);
    }
    busy = false;
  };
  perform(firstActions, 'start');
  drain();
  return {
    send(event) {
      mailbox.push(event);
      if (busy) return;
      busy = true;
      drain();
    },
    state: () => snapshot.value,
    isDone: () => snapshot.status === 'done',
  };
}

const effectsOf = <Effect extends { readonly type: string }>(actions: readonly EffectAction[]): Effect[] =>
  actions.map(({ type, params }) => ({ type, ...(params as object | undefined) }) as unknown as Effect);
