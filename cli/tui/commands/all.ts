// What is typed at the editor: a slash command, or a message. All commands by their names.

import { nearestName } from '../../../orchestrator/nearest-name.ts';
import { UserError } from '../../../shared/outcome.ts';
import { placeHere } from '../../place.ts';
import type { Desk } from '../desk.ts';
import { readHistory } from '../history.ts';
import { typeable } from '../typeable.ts';
import { basicCommands } from './basic.ts';
import type { SlashCommand } from './command.ts';
import { loginCommands } from './login.ts';
import { pastePicture } from './picture.ts';
import { createPlanOffer } from './plan.ts';
import { editLastQueued, queueCommands, sayNow } from './queue.ts';
import { sessionCommands } from './session.ts';
import { setupCommands } from './setup.ts';
import { remember, runShell, sendMessage } from './typed.ts';

/** These need no Odin, which may still be starting. */
const AT_ONCE: ReadonlySet<string> = new Set(['help', 'mode', 'theme', 'quit']);

export interface Commands {
  readonly list: readonly SlashCommand[];
  /** Throws UserError when it cannot be done. */
  take(text: string): Promise<void>;
  editLastQueued(): Promise<void>;
  /** Says what stands in the editor, or the first message that waits, to the message that runs. */
  sayNow(): Promise<void>;
  /** The picture in the system's clipboard goes with the message that is typed. */
  pastePicture(): Promise<void>;
  /** Reads what was typed in earlier sessions. */
  begin(): Promise<void>;
  /** A message has ended. */
  ended(): void;
}

export function createCommands(desk: Desk): Commands {
  const list = [...basicCommands, ...sessionCommands, ...setupCommands, ...loginCommands, ...queueCommands];
  return {
    list,
    async take(text) {
      const [, name, rest = ''] = /^\/([a-z]+)(?:\s+([^]*))?$/.exec(text.trim()) ?? [];
      if (text.startsWith('!')) return await runShell(desk, text.slice(1).trim());
      if (name === undefined || !AT_ONCE.has(name)) await desk.ready();
      if (text.startsWith('#') && !text.includes('\n')) return await remember(desk, text.slice(1));
      if (name === undefined) {
        await sendMessage(desk, text);
        return;
      }
      const command = list.find((one) => one.name === name);
      if (command === undefined) {
        const near = nearestName(
          name,
          list.map((one) => one.name),
        );
        throw new UserError(`there is no /${name}.${near === null ? '' : ` Did you mean /${near}?`} /help shows all.`);
      }
      await command.run(desk, rest.trim());
    },
    editLastQueued: () => editLastQueued(desk),
    sayNow: () => sayNow(desk),
    pastePicture: () => pastePicture(desk),
    async begin() {
      const { home } = placeHere(desk.options.env, desk.options.cwd);
      for (const text of await readHistory(home)) desk.editor.addToHistory(typeable(text));
    },
    ended: createPlanOffer(desk),
  };
}
