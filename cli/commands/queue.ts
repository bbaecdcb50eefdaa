// `odin queue list|remove|edit|steer`: what waits (SPEC O6), and changes to it. What runs or is done cannot change.

import type { Odin } from '../../orchestrator/api.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import type { QueuedMessage } from '../../shared/state.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

export async function listQueue(session: string | undefined, { json }: { readonly json?: boolean }): Promise<number> {
  const waiting = await withOdin(placeHere(), null, (odin) => queuedMessages(odin, session));
  if (json === true) {
    for (const message of waiting) process.stdout.write(jsonLine(message));
  } else if (waiting.length === 0) {
    process.stderr.write('Nothing waits.\n');
  } else {
    const rows = waiting.map(({ session, seq, mode, body }) => [session, String(seq), mode, cleanLine(body, 80)]);
    process.stdout.write(table([['SESSION', 'SEQ', 'MODE', 'MESSAGE'], ...rows]));
  }
  return EXIT.completed;
}

async function queuedMessages(
  odin: Odin,
  session: string | undefined,
): Promise<readonly (QueuedMessage & { readonly session: string })[]> {
  const sids =
    session === undefined
      ? (await odin.sessions()).filter(({ queued }) => queued > 0).map(({ sid }) => sid)
      : [await findSession(odin, session)];
  const lists = await Promise.all(
    sids.map(async (sid) => (await odin.queued(sid)).map((message) => ({ session: sid, ...message }))),
  );
  return lists.flat();
}

export async function removeQueued(session: string, seq: number): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    await odin.removeQueued(sid, seq);
    process.stdout.write(`message ${seq} of session ${sid} is removed\n`);
    return EXIT.completed;
  });
}

export async function steerQueued(session: string, seq: number): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    const running = await odin.steer(sid, seq, 'odin queue steer');
    process.stdout.write(`message ${seq} of session ${sid} is told to message ${running} with its next step\n`);
    return EXIT.completed;
  });
}

export interface QueueChange {
  readonly body?: string;
  readonly mode?: Mode;
}

export async function editQueued(session: string, seq: number, change: QueueChange): Promise<number> {
  if (change.body === undefined && change.mode === undefined) {
    throw new UserError('say what to change: --body "…", --mode ask|plan|edit, or both.');
  }
  if (change.body?.trim() === '')
    throw new UserError('the new text is empty. `odin queue remove` takes a message out.');
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    await odin.editQueued(sid, seq, {
      ...(change.body === undefined ? {} : { body: change.body }),
      ...(change.mode === undefined ? {} : { mode: change.mode }),
    });
    process.stdout.write(`message ${seq} of session ${sid} is changed\n`);
    return EXIT.completed;
  });
}
