// Finishes an effect that a crash interrupted between its intent and its result (DURABILITY 5.4): a file change is made or found
// made, a command is looked up by its shim. Of anything else the outcome is unknown: null.

import type { ToolResponse } from '../shared/define-tool.ts';
import type { Json } from '../shared/json.ts';
import { type Outcome, ok } from '../shared/outcome.ts';
import { commandIntentOf } from './exec/command-intent.ts';
import { finishCommand } from './exec/finish-command.ts';
import { fileIntentOf, resumeEdit } from './files/resume-edit.ts';
import type { World } from './world.ts';

export async function resumeEffect(
  world: World,
  sid: string,
  json: Json,
  signal: AbortSignal,
): Promise<Outcome<ToolResponse> | null> {
  const command = commandIntentOf(json);
  if (command) return finishCommand(world.commands, sid, command, world.scrub, signal);
  const intent = fileIntentOf(json);
  if (!intent) return null;
  const resumed = await resumeEdit(world.files, intent);
  if (!resumed.ok) return resumed;
  const { change } = resumed.value;
  const text = `Odin was interrupted while it changed ${change.path}; the change is made now, exactly once.`;
  return ok({ text, description: text, affectedFiles: [change.path], data: { ...change } as unknown as Json });
}
