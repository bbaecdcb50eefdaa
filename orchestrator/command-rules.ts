// Which command rules hold now (SAFETY R14): the settings', those kept for always, those of this run, those of the session; and
// whether they still cover the network (SAFETY 2.3).

import { grantedRules, type PermissionMemory } from '../agent/permissions-memory.ts';
import { whyTainted } from '../agent/taint.ts';
import type { CommandRules } from '../shared/define-tool.ts';
import type { Config } from './config.ts';
import type { RuleStore } from './permissions-rules.ts';

/** The rules of this moment: a call keeps those it began with, also when its own answer makes a new one. */
export type CommandRulesSource = (memory: PermissionMemory) => () => CommandRules;

export function createCommandRules(
  config: Config,
  store: RuleStore,
  ofThisRun: readonly string[],
  isFolderTrusted: () => boolean,
): CommandRulesSource {
  let lists: readonly (readonly string[])[] = [];
  let allowed: readonly string[] = [];
  return (memory) => {
    const now = [config.allowedCommands, store.rules(), ofThisRun, grantedRules(memory)];
    // The same array while nothing changes: decisions are compiled once for each.
    if (!isSame(now, lists)) allowed = now.flat();
    lists = now;
    const tainted = whyTainted(memory.taint, isFolderTrusted);
    const rules = { allowed, forbidden: config.forbiddenCommands, ...(tainted === undefined ? {} : { tainted }) };
    return () => rules;
  };
}

const isSame = (a: readonly (readonly string[])[], b: readonly (readonly string[])[]): boolean =>
  a.every((list, at) => list.length === b[at]?.length && list.every((rule, n) => rule === b[at]?.[n]));
