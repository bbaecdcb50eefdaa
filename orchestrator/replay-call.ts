// One tool call run again from the journal: the tool machine is led along the events that the journal has of the call, and must come
// to the same end. Only calls that ran in the epoch that settled them are led; a resume settles others without their machine.

import { type Actor, startActor } from '../machines/host.ts';
import type { ToolEffectRequest, ToolEvent } from '../machines/tool/events.ts';
import { toolMachine } from '../machines/tool/machine.ts';
import type { EventOf, SettledKind } from '../shared/events.ts';
import type { OpId } from '../shared/ids.ts';
import type { Failure } from '../shared/outcome.ts';

export interface ReplayedCall {
  asked(event: EventOf<'perm.ask'>): void;
  answered(event: EventOf<'perm.answer'>): void;
  intended(): void;
  /** The kind that the machine ends with when the call is to end with `kind`. */
  settled(kind: SettledKind): SettledKind | null;
}

const WHY: Failure = { kind: 'failed', code: 'replayed', message: 'As in the journal.' };

export function replayCall(op: OpId): ReplayedCall {
  let end: SettledKind | null = null;
  const perform = (effect: ToolEffectRequest): void => {
    if (effect.type === 'settle') end = effect.kind;
  };
  const actor: Actor<ToolEvent> = startActor<ToolEvent, ToolEffectRequest>(
    toolMachine,
    { op, timeoutMs: 1 },
    { perform },
  );
  const pass = (state: string, event: ToolEvent): void => {
    if (actor.state() === state) actor.send(event);
  };
  const intoGate = () => pass('validating', { type: 'args.valid' });
  const intoExecution = () => {
    intoGate();
    pass('gating', { type: 'gate.allowed' });
  };
  const lead = (kind: SettledKind): void => {
    switch (kind) {
      case 'invalid':
        pass('validating', { type: 'args.invalid', failure: WHY });
        break;
      case 'refused':
        intoGate();
        pass('gating', { type: 'gate.denied', failure: WHY });
        pass('asking', { type: 'question.denied', failure: WHY });
        break;
      case 'cancelled':
      case 'unknown':
        actor.send({ type: 'tool.cancel' });
        pass('aborting', { type: 'grace.over' });
        break;
      case 'ok':
      case 'failed':
        intoExecution();
    }
    pass('executing', { type: 'executed', kind, failure: kind === 'ok' ? null : WHY });
    pass('shaping', { type: 'shaped' });
  };
  return {
    asked({ question }) {
      intoGate();
      pass('gating', { type: 'gate.asked', question });
    },
    answered({ decision }) {
      pass('asking', decision === 'deny' ? { type: 'question.denied', failure: WHY } : { type: 'question.allowed' });
    },
    intended() {
      intoExecution();
      actor.send({ type: 'intent.journaled' });
    },
    settled(kind) {
      lead(kind);
      return end;
    },
  };
}
