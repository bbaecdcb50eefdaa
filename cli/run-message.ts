// One message from submit to its end: follows its events into a renderer, and turns Ctrl-C into a cancellation that is journaled.

import type { Odin, SubmitOptions } from '../orchestrator/api.ts';
import { UserError } from '../shared/outcome.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { onInterrupt } from './interrupts.ts';
import { outputGone } from './output-gone.ts';
import type { Renderer } from './render-plain.ts';

export interface RunMessage {
  readonly sid: string;
  readonly isNew: boolean;
  readonly submit: SubmitOptions;
  readonly renderer: Renderer;
}

export interface MessageEnd {
  readonly exitCode: number;
  /** Place of its last event in the journal; null when it was taken back before it began. */
  readonly endId: string | null;
}

/** Submits, follows and shows. Only this message's events are shown, not those it waits for. */
export async function runMessage(odin: Odin, { sid, isNew, submit, renderer }: RunMessage): Promise<MessageEnd> {
  const from = isNew ? '0' : (await odin.state(sid)).upTo;
  const { seq, position } = await odin.submit(sid, submit);
  if (position > 0) process.stderr.write(`message ${seq} of session ${sid} waits at position ${position}\n`);
  const stop = new AbortController();
  let hasStarted = false;
  let isWithdrawn = false;
  const cancel = (by: string) => {
    void cancelMessage(odin, { sid, seq, hasStarted, by }).then(
      (withdrawn) => {
        isWithdrawn = withdrawn;
        if (withdrawn) stop.abort();
      },
      (error: Error) => process.stderr.write(`odin: the message could not be cancelled: ${error.message}\n`),
    );
  };
  const offInterrupt = onInterrupt(cancel);
  const onGone = () => cancel('the end of the pipe');
  outputGone.addEventListener('abort', onGone, { once: true });
  try {
    for await (const event of odin.follow(sid, { from, signal: stop.signal })) {
      if (event.seq !== seq && !(isNew && event.seq === 0)) continue;
      hasStarted ||= event.type === 'MessageStarted';
      renderer.show(event);
      if (event.type === 'AgentDone') return { exitCode: exitCodeOf(event.status), endId: event.id };
    }
  } finally {
    stop.abort();
    offInterrupt();
    outputGone.removeEventListener('abort', onGone);
  }
  if (isWithdrawn) return { exitCode: EXIT.cancelled, endId: null };
  throw new UserError(
    `session ${sid} can no longer be followed from here. \`odin attach ${sid}\` tries again.`,
    EXIT.failed,
  );
}

/** True when the message was taken back before it started; then it has no end to wait for. */
async function cancelMessage(
  odin: Odin,
  { sid, seq, hasStarted, by }: { sid: string; seq: number; hasStarted: boolean; by: string },
): Promise<boolean> {
  if (!hasStarted) {
    try {
      await odin.removeQueued(sid, seq);
      return true;
    } catch (error) {
      // It started just now: then it is the one that runs.
      if (!(error instanceof UserError)) throw error;
    }
  }
  await odin.cancel(sid, by);
  return false;
}
