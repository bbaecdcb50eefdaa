// The hooks of the settings: shell commands as functions. A command gets the event as one JSON object on stdin.

import type { ConfiguredHook } from './configured-hooks.ts';
import type { Hook, HookAnswer, HookEvent, HookGiven } from './hook.ts';
import { toolMatcher } from './tool-matcher.ts';

export interface CommandHooks {
  readonly hooks: readonly Hook[];
  /** Resolves when no command runs any more; the messages that they were about must be over. */
  close(): Promise<void>;
}

export interface CommandHookPlace {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A command has ended: files may be others now. */
  ended(): void;
}

export function openCommandHooks(configured: readonly ConfiguredHook[], place: CommandHookPlace): CommandHooks {
  const running = new Set<Promise<unknown>>();
  const track = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    const done = () => running.delete(work);
    work.then(done, done);
    return work;
  };
  return {
    hooks: configured.map((entry) => {
      const { event, name, match, timeoutMs } = entry;
      return {
        name,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(match === undefined ? {} : { matches: toolMatcher(match) }),
        [event]: (given: HookGiven, signal: AbortSignal) => track(runFor(entry, place, given, signal)),
      };
    }),
    async close() {
      await Promise.allSettled(running);
    },
  };
}

/** Whatever goes wrong with the command is thrown: run-hooks.ts knows what that means for its event. */
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
