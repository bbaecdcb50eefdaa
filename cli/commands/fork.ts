// `odin sessions fork`: a new session that goes on from any point of another (SPEC E14).

import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';

export interface ForkOptions {
  readonly at?: string;
  readonly json?: boolean;
}

export async function fork(session: string, { at, json }: ForkOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const from = await findSession(odin, session);
    const forked = await odin.fork(from, at);
    if (json === true) {
      process.stdout.write(
        jsonLine({ session: forked.sid, from, at: forked.at, messages: forked.messages, cut: forked.cut }),
      );
      return EXIT.completed;
    }
    process.stdout.write(`${forked.sid}\n`);
    const cut = forked.cut === null ? '' : ` Message ${forked.cut}, which was under way there, is cancelled in it.`;
    process.stderr.write(
      `It continues ${from} after event ${forked.at}.${cut} Files are as they are now: nothing was moved.\n` +
        `Go on with it: odin --session ${forked.sid} "…"\n`,
    );
    return EXIT.completed;
  });
}
