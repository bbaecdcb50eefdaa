// `odin replay`: a session's machines and folds run again from its journal, and the first thing that differs.

import { cleanLine } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';

export interface ReplayOptions {
  readonly expect?: string;
  readonly json?: boolean;
}

export async function replay(session: string, { expect, json }: ReplayOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const replayed = await odin.replay(await findSession(odin, session));
    const isOther = expect !== undefined && expect !== replayed.stateHash;
    const difference =
      replayed.difference ??
      (isOther ? { event: null, message: replayed.messages, expected: `the state ${expect}`, found: 'another' } : null);
    const code = difference === null ? EXIT.completed : EXIT.failed;
    if (json === true) {
      process.stdout.write(jsonLine({ ...replayed, difference }));
      return code;
    }
    const { events, messages, machines, open, stateHash } = replayed;
    const lines = [
      `${events} events, ${messages} messages, written by ${cleanLine(machines.join(', ')) || 'nobody'}`,
      `state ${stateHash}`,
      ...(open === null ? [] : [`the newest message is not done; it waits for ${cleanLine(open)}`]),
      difference === null
        ? 'the machines ask for exactly what was done'
        : `message ${difference.message}, event ${difference.event ?? 'at the end'} differs\n  expected: ${cleanLine(difference.expected)}\n  found:    ${cleanLine(difference.found)}`,
    ];
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return code;
  });
}
