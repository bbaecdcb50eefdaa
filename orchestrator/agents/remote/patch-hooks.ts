// What the user's hooks see of a remote agent's patch (SPEC E5): the call itself with every file of it, and each file as the edit that it is,
// so that a guard over WriteFile, EditTool or MultiEditTool is passed by no more than with a local agent. A hook is asked about a file once.
// One no is enough for all of it: a patch is taken whole or not at all.

import { isUtf8 } from 'node:buffer';
import type { Json, JsonObject } from '../../../shared/json.ts';
import type { Failure } from '../../../shared/outcome.ts';
import type { WantedChange } from '../../files/change-files.ts';
import type { CallVerdict } from '../../hooks/judge-call.ts';
import type { HookedCall, Hooks } from '../../hooks/run-hooks.ts';

/** As a file of the patch is told; content is null where there is none. */
export function patchFiles(changes: readonly WantedChange[]): Json {
  return changes.map(({ path, before, after }) => ({
    file_path: path,
    change: before === null ? 'created' : after === null ? 'deleted' : 'changed',
    content: after === null ? null : textOf(after),
  }));
}

export function patchHooks(hooks: Hooks, changes: readonly WantedChange[]): Hooks {
  const { toolCall, toolResult } = hooks;
  return {
    ...hooks,
    toolCall: toolCall && ((call, signal) => judgeAll(toolCall, call, changes, signal)),
    toolResult:
      toolResult &&
      (async (call, result, signal) => {
        const said: (readonly string[] | null)[] = [];
        const asked: string[] = [];
        for (const name of [call.name, ...EDITS.map((edit) => edit.name)]) {
          said.push(await toolResult({ ...call, name, except: [...asked] }, result, signal));
          asked.push(name);
        }
        return said.every((notes) => notes === null) ? null : said.flatMap((notes) => notes ?? []);
      }),
  };
}

async function judgeAll(
  toolCall: NonNullable<Hooks['toolCall']>,
  call: HookedCall,
  changes: readonly WantedChange[],
  signal: AbortSignal,
): Promise<CallVerdict> {
  const asks = new Set<string>();
  /** Null: no hook is against it. */
  const judge = async (one: HookedCall): Promise<CallVerdict | null> => {
    const verdict = await toolCall(one, signal);
    if (verdict.verdict === 'refused') return verdict;
    if (verdict.changed) return { verdict: 'refused', failure: cannotChange(verdict.changed.by) };
    for (const why of verdict.asks) asks.add(why);
    return null;
  };
  const whole = await judge(call);
  if (whole) return whole;
  for (const change of changes) {
    const except: string[] = [];
    for (const { name, args } of EDITS) {
      const refused = await judge({ ...call, name, args: args(change), except: [...except] });
      if (refused) return refused;
      except.push(name);
    }
  }
  return { verdict: 'go', changed: null, asks: [...asks] };
}

const textOf = (bytes: Buffer | null): string =>
  bytes === null ? '' : isUtf8(bytes) ? bytes.toString('utf8') : `[binary, ${bytes.length} bytes]`;

/** The tools that make such a change here, with the arguments that each has. */
const EDITS: readonly { readonly name: string; args(change: WantedChange): JsonObject }[] = [
  { name: 'EditTool', args: (change) => ({ file_path: change.path, ...replaced(change) }) },
  { name: 'MultiEditTool', args: (change) => ({ file_path: change.path, edits: [replaced(change)] }) },
  { name: 'WriteFile', args: ({ path, after }) => ({ file_path: path, content: textOf(after) }) },
];

const replaced = ({ before, after }: WantedChange) => ({ old_string: textOf(before), new_string: textOf(after) });

const cannotChange = (by: string): Failure => ({
  kind: 'refused',
  code: 'hook_failed',
  message: `The hook "${by}" of the user changes this edit of a subagent that worked elsewhere. What such an agent brings is taken as it is or not at all, so it was not taken. That is for the user to mend: say so.`,
});
