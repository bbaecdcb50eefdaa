// `odin compact`: makes a session's context smaller now (SPEC O21). It is a message of the session itself, so it waits for what runs.

import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { openModels } from '../open-models.ts';
import { placeHere, withOdin } from '../place.ts';
import { rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';
import { settingsOf } from '../settings.ts';

export interface CompactOptions {
  readonly keep?: string;
  readonly smallModel?: string;
  readonly json?: boolean;
}

export async function compact(session: string, { keep, smallModel, json }: CompactOptions): Promise<number> {
  const place = placeHere();
  const models = await openModels(smallModel === undefined ? {} : { smallModel }, await settingsOf(place));
  return await withOdin(
    place,
    models,
    async (odin) => {
      const sid = await findSession(odin, session);
      const { messages, messageQueue, isExecuting, window } = await odin.state(sid);
      if (odin.owner && (isExecuting || messageQueue.length > 0)) {
        throw new UserError(
          `session ${sid} has messages that are not done, and compact comes after them. Finish them first: odin --session ${sid}`,
          EXIT.failed,
        );
      }
      const { exitCode } = await runMessage(odin, {
        sid,
        isNew: false,
        submit: {
          mode: messages.at(-1)?.mode ?? 'ask',
          body: keep === undefined ? '/compact' : `/compact ${keep}`,
          command: { type: 'compact', ...(keep === undefined ? {} : { focus: keep }) },
          model: window?.model ?? models.model,
          smallModel: models.smallModel,
        },
        renderer: rendererHere({ json: json ?? false, showPrompts: false }),
      });
      return exitCode;
    },
    { commandsOnly: true },
  );
}
