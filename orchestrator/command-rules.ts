// Which command rules hold now (SAFETY R14): the settings', those kept for always, those of this run, those of the session; and
// whether they still cover the network (SAFETY 2.3).

import { grantedRules, type PermissionMemory } from '../agent/permissions-memory.ts';
import { whyTainted } from '../agent/taint.ts';
import type { CommandRules } from '../shared/define-tool.ts';
import type { Config } from './config.ts';
import type { RuleStore } from './permissions-rules.ts';

/** The rules of the first time that they are asked for: a call keeps them, also when its own answer makes a new one. */
export type CommandRulesSource = (memory: PermissionMemory) => () => CommandRules;

export function createCommandRules(
  config: Config,
  store: RuleStore,
  ofThisRun: readonly string[],
  isFolderTrusted: () => boolean,
): CommandRulesSource {
  let lists: readonly (readonly string[])[] = [];
  let allowed: readonly string[] = [];
  const rulesOf = (memory: PermissionMemory): CommandRules => {
    const now = [config.allowedCommands, store.rules(), ofThisRun, grantedRules(memory)];
    // The same array while nothing changes: decisions are compiled once for each.
    if (!isSame(now, lists)) allowed = now.flat();
    lists = now;
    const tainted = whyTainted(memory.taint, isFolderTrusted);
    return { allowed, forbidden: config.forbiddenCommands, ...(tainted === undefined ? {} : { tainted }) };
  };
  return (memory) => {
    // Looked up when it is first asked for: most calls run no command, and the lists and the user's trust are on disk.
    let rules: CommandRules | null = null;
    return () => {
      rules ??= rulesOf(memory);
      return rules;
    };
  };
}

const isSame = (a: readonly (readonly string[])[], b: readonly (readonly string[])[]): boolean =>
  a.every((list, at) => list.length === b[at]?.length && list.every((rule, n) => rule === b[at]?.[n]));
