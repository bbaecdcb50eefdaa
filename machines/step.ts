// XState's `initialTransition` and `transition`, step for step, over one scope for each machine. XState's own make a whole new
// actor, initial state and all, for every event: measured at 0.7 ms of a planner step of 3 ms. Sound for machines that spawn
// and invoke nothing, as ours do: then nothing in the scope ever changes (test/machines/step.test.ts compares the two).

import { type AnyActorScope, type AnyStateMachine, createActor } from 'xstate';

interface ExecutableAction {
  readonly type: string;
  readonly params?: unknown;
}

export interface Snapshot {
  readonly value: unknown;
  readonly status: string;
}

export type Step = readonly [snapshot: Snapshot, actions: readonly ExecutableAction[]];

const scopes = new WeakMap<AnyStateMachine, AnyActorScope>();

/** The state that a machine starts in, and what it asks for on entering it. */
export function firstStep(machine: AnyStateMachine, input: unknown): Step {
  return step(machine, (scope) => machine.getInitialSnapshot(scope, input));
}

/** The state after an event, and what was asked for on the way. */
export function nextStep(machine: AnyStateMachine, snapshot: Snapshot, event: { readonly type: string }): Step {
  return step(machine, (scope) => machine.transition(snapshot as never, event, scope));
}

function step(machine: AnyStateMachine, run: (scope: AnyActorScope) => unknown): Step {
  const actions: ExecutableAction[] = [];
  const scope = { ...scopeOf(machine), actionExecutor: (action: ExecutableAction) => void actions.push(action) };
  return [run(scope) as Snapshot, actions];
}

function scopeOf(machine: AnyStateMachine): AnyActorScope {
  const known = scopes.get(machine);
  if (known) return known;
  const self = createActor(machine);
  const scope: AnyActorScope = {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger: () => {},
    defer: () => {},
    stopChild: () => {},
    emit: () => {},
    actionExecutor: () => {},
  };
  scopes.set(machine, scope);
  return scope;
}
