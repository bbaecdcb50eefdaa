// `odin cancel`: asks, durably, for the end of what runs in a session, from any terminal (SPEC E11).

import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';

export async function cancel(session: string): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    const isAsked = await odin.cancel(sid, 'odin cancel');
    const line = isAsked ? 'is asked to stop' : 'runs nothing: there is nothing to cancel';
    process.stdout.write(`session ${sid} ${line}\n`);
    return isAsked ? EXIT.completed : EXIT.failed;
  });
}
