// Which session a person means: an id, the beginning of one that no other session has, or `last`.

import type { Odin } from '../orchestrator/api.ts';
import { cleanLine } from '../shared/clean-text.ts';
import { UserError } from '../shared/outcome.ts';

/** The session's id. Throws UserError when there is none, or more than one. */
export async function findSession(odin: Pick<Odin, 'sessions' | 'lastSession'>, given: string): Promise<string> {
  if (given === 'last') {
    const last = await odin.lastSession();
    if (last === null) throw new UserError('there is no session here yet. `odin run "…"` begins one.');
    return last;
  }
  const wanted = given.toUpperCase();
  const sids = (await odin.sessions()).map((session) => session.sid);
  const found = sids.includes(wanted) ? [wanted] : sids.filter((sid) => wanted !== '' && sid.startsWith(wanted));
  const only = found[0];
  if (only !== undefined && found.length === 1) return only;
  if (only === undefined) {
    throw new UserError(`there is no session "${cleanLine(given, 60)}". \`odin sessions list\` shows which there are.`);
  }
  throw new UserError(
    `"${cleanLine(given, 60)}" is the beginning of ${found.length} sessions (${found.slice(0, 4).join(', ')}…). Give more of it.`,
  );
}
