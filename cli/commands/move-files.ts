// `odin undo` and `odin redo`: move a session's file changes back and forth, message by message (SPEC E14). They are messages of the
// session themselves, so they wait for what runs and happen exactly once.

import type { FileCommand } from '../../shared/message-command.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';

export async function moveFiles(type: FileCommand['type'], count: number, session: string): Promise<number> {
  return await withOdin(
    placeHere(),
    null,
    async (odin) => {
      const sid = await findSession(odin, session);
      const { messageQueue, isExecuting } = await odin.state(sid);
      if (odin.owner && (isExecuting || messageQueue.length > 0)) {
        throw new UserError(
          `session ${sid} has messages that are not done, and ${type} comes after them. Finish them first: odin --session ${sid}`,
          EXIT.failed,
        );
      }
      const { exitCode } = await runMessage(odin, {
        sid,
        isNew: false,
        submit: { mode: 'edit', body: `/${type} ${count}`, command: { type, count } },
        renderer: rendererHere({ json: false, showPrompts: false }),
      });
      return exitCode;
    },
    { commandsOnly: true },
  );
}
