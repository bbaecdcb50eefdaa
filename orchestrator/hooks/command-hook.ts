// A hook of the settings: a shell command as a function. The command gets the event as one JSON object on stdin.

import type { ConfiguredHook } from './configured-hooks.ts';
import type { Hook, HookAnswer, HookEvent, HookGiven } from './hook.ts';
import { toolMatcher } from './tool-matcher.ts';

export interface CommandHookPlace {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A command has ended: files may be others now. */
  ended(): void;
}

/** Whatever goes wrong with the command is thrown: run-hooks.ts knows what that means for its event. */
export function commandHook(configured: ConfiguredHook, place: CommandHookPlace): Hook {
  const { event, name, match, timeoutMs } = configured;
  const matches = match === undefined ? undefined : toolMatcher(match);
  return {
    name,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(matches === undefined ? {} : { matches }),
    [event]: (given: HookGiven, signal: AbortSignal) => runFor(configured, place, given, signal),
  };
}

async function runFor<E extends HookEvent>(
  { command, event }: ConfiguredHook,
  { root, env, ended }: CommandHookPlace,
  given: HookGiven<E>,
  signal: AbortSignal,
): Promise<HookAnswer<E> | undefined> {
  const [{ runHookCommand }, { hookAnswer }] = await Promise.all([
    import('./run-hook-command.ts'),
    import('./hook-answer.ts'),
  ]);
  const more = { ODIN_PROJECT_ROOT: root, ODIN_HOOK_EVENT: event, ODIN_SESSION: given.session };
  const run = await runHookCommand({ command, cwd: root, env, more, stdin: `${JSON.stringify(given)}\n`, signal });
  ended();
  const answer = hookAnswer(event, run);
  if (!answer.ok) throw new Error(answer.failure.message);
  return (answer.value ?? undefined) as HookAnswer<E> | undefined;
}
