// XState's `initialTransition` and `transition` for the machines that we write (docs/decisions/0003): flat charts of named guards,
// assignments and requests. test/machines/step.test.ts compares the two on random runs; a machine that needs more than this is refused
// when its first actor starts.

import type { AnyStateMachine } from 'xstate';
import { Bug } from '../shared/outcome.ts';

interface ExecutableAction {
  readonly type: string;
  readonly params?: unknown;
}

export interface Snapshot {
  readonly value: string;
  readonly status: 'active' | 'done';
  readonly context: object;
}

export type Step = readonly [snapshot: Snapshot, actions: readonly ExecutableAction[]];

interface Event {
  readonly type: string;
}

/** What guards, assignments and parameters are given. */
interface Given {
  readonly context: object;
  readonly event: Event;
}

type Action = string | { readonly type: string; readonly params?: unknown };
type Assigned = ((given: Given) => object) | Readonly<Record<string, unknown>>;

interface Transition {
  readonly target: readonly Node[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly Action[];
  readonly reenter: boolean;
}

interface Node {
  readonly key: string;
  readonly type: string;
  readonly entry: readonly Action[];
  readonly exit: readonly Action[];
  readonly invoke: readonly unknown[];
  readonly transitions: ReadonlyMap<string, readonly Transition[]>;
  readonly always?: readonly Transition[];
}

interface Chart {
  readonly root: Node;
  readonly states: Readonly<Record<string, Node>>;
  readonly initial: string;
  readonly guards: Readonly<Record<string, (given: Given) => boolean>>;
  /** Of the named actions those that are assignments; all others are requests. */
  readonly assignments: ReadonlyMap<string, Assigned>;
  readonly context: (given: { readonly input: unknown }) => object;
}

/** The state that a machine starts in, and what it asks for on entering it. */
export function firstStep(machine: AnyStateMachine, input: unknown): Step {
  const chart = chartOf(machine);
  const move = moveFrom(chart, { value: chart.initial, status: 'active', context: chart.context({ input }) });
  const event = { type: 'xstate.init', input };
  move.enter(chart.initial, event);
  return move.settled(event);
}

/** The state after an event, and what was asked for on the way. */
export function nextStep(machine: AnyStateMachine, snapshot: Snapshot, event: Event): Step {
  const chart = chartOf(machine);
  const move = moveFrom(chart, snapshot);
  const given = { context: snapshot.context, event };
  const { root, states } = chart;
  const taken = reactionOf(chart, nodeOf(states, snapshot.value), given) ?? reactionOf(chart, root, given);
  if (taken) move.take(taken, event);
  return move.settled(event);
}

/** One step, as it comes about. */
function moveFrom(chart: Chart, { value, status, context }: Snapshot) {
  const requests: ExecutableAction[] = [];

  const run = (actions: readonly Action[], event: Event): void => {
    for (const action of actions) {
      const type = typeof action === 'string' ? action : action.type;
      const given = { context, event };
      const assignment = chart.assignments.get(type);
      if (assignment) {
        context = { ...context, ...assigned(assignment, given) };
        continue;
      }
      const params = typeof action === 'string' ? undefined : action.params;
      requests.push({ type, params: typeof params === 'function' ? params(given) : params });
    }
  };
  const enter = (state: string, event: Event): void => {
    const node = nodeOf(chart.states, state);
    value = state;
    run(node.entry, event);
    if (node.type === 'final') status = 'done';
  };
  const take = ({ target, actions, reenter }: Transition, event: Event): void => {
    const state = target?.[0]?.key;
    run(actions, event);
    if (state !== undefined && (state !== value || reenter)) enter(state, event);
  };
  return {
    enter,
    take,
    /** Where it comes to rest: what is always to be done is done. */
    settled(event: Event): Step {
      while (status === 'active') {
        const taken = chosen(chart, nodeOf(chart.states, value).always, { context, event });
        if (!taken) break;
        take(taken, event);
      }
      return [{ value, status, context }, requests];
    },
  };
}

const assigned = (assignment: Assigned, given: Given): object => {
  if (typeof assignment === 'function') return assignment(given);
  const changes: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(assignment))
    changes[key] = typeof value === 'function' ? value(given) : value;
  return changes;
};

function reactionOf(chart: Chart, { transitions }: Node, given: Given): Transition | undefined {
  return (
    chosen(chart, transitions.get(given.event.type), given) ?? chosen(chart, transitions.get(ANYTHING_ELSE), given)
  );
}

const ANYTHING_ELSE = '*';

function chosen({ guards }: Chart, from: readonly Transition[] = [], given: Given): Transition | undefined {
  for (const transition of from) {
    if (transition.guard === undefined || guards[transition.guard as string]?.(given)) return transition;
  }
  return undefined;
}

function nodeOf(states: Chart['states'], name: string): Node {
  const node = states[name];
  if (!node) throw new Bug(`A machine has no state ${name}.`);
  return node;
}

const charts = new WeakMap<AnyStateMachine, Chart>();

function chartOf(machine: AnyStateMachine): Chart {
  let chart = charts.get(machine);
  if (!chart) {
    chart = readChart(machine);
    charts.set(machine, chart);
  }
  return chart;
}

function readChart({ id, config, root, implementations }: AnyStateMachine): Chart {
  const refuse = (what: string): never => {
    throw new Bug(`The machine ${id} has ${what}, which machines/step.ts does not know.`);
  };
  const states = root.states as unknown as Chart['states'];
  const top = root as unknown as Node;
  const named: Readonly<Record<string, unknown>> = implementations.actions;
  const guards = implementations.guards as Chart['guards'];
  for (const [name, guard] of Object.entries(guards)) {
    if (typeof guard !== 'function' || 'check' in guard) refuse(`a guard ${name} made of other guards`);
  }
  const assignments = new Map<string, Assigned>();
  for (const [name, action] of Object.entries(named)) {
    if (typeof action !== 'function') refuse(`an action ${name} that is no function`);
    const { type, assignment } = action as { readonly type?: string; readonly assignment?: Assigned };
    if (type === 'xstate.assign' && assignment) assignments.set(name, assignment);
    else if ('resolve' in (action as object)) refuse(`an action ${name} of XState's own`);
  }
  const check = (actions: readonly Action[]): void => {
    for (const action of actions) {
      const name = typeof action === 'function' ? '(inline)' : typeof action === 'string' ? action : action.type;
      if (!(name in named)) refuse(`an action ${name} that is not named in its set-up`);
      if (assignments.has(name) && typeof action !== 'string' && action.params !== undefined)
        refuse(`an assignment ${name} with parameters`);
    }
  };
  for (const node of [top, ...Object.values(states)]) {
    if (node !== top && node.type !== 'atomic' && node.type !== 'final')
      refuse(`a state ${node.key} with states inside`);
    if (node.exit.length + node.invoke.length > 0)
      refuse(`a state ${node.key} that invokes, or does something on leaving`);
    check(node.entry);
    for (const [name, transitions] of [...node.transitions, ['', node.always ?? []] as const]) {
      if (name.endsWith('.*')) refuse(`a wildcard ${name}`);
      for (const { guard, actions, target } of transitions) {
        check(actions);
        if (guard !== undefined && typeof guards[guard as string] !== 'function')
          refuse(`a guard in ${node.key} without a name`);
        if (target && (node === top || target.length !== 1 || states[target[0]?.key ?? ''] !== target[0])) {
          refuse(`a transition from ${node.key} to more than one state, or from its root`);
        }
      }
    }
  }
  if (top.entry.length > 0 || top.always) refuse('entry actions or transitions without event at its root');
  const { context = {}, initial } = config;
  if (typeof initial !== 'string') refuse('no initial state');
  const first = (typeof context === 'function' ? context : () => context) as Chart['context'];
  return { root: top, states, initial: initial as string, guards, assignments, context: first };
}
