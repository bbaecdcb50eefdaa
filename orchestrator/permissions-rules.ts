// The rules that "always" has made (SAFETY 2.3): entries for AllowedCommands, by project, in the user's state folder and never in the
// project. A rule that is revoked in one process no longer holds in any.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { compileLists } from '../tools/safety/lists.ts';
import { changeUserFile, readUserFile } from './user-file.ts';

const VERSION = 1 as const;
const ruleSchema = z.strictObject({ rule: z.string().min(1), at: z.int() });
const fileSchema = z.strictObject({ version: z.literal(VERSION), projects: z.record(z.string(), z.array(ruleSchema)) });

export type StoredRule = z.infer<typeof ruleSchema>;

export interface RuleStore {
  /** The rules of the project, oldest first. */
  list(): readonly StoredRule[];
  add(rule: string, at: number): Promise<void>;
  /** Takes out the nth, from 1, and returns it; null when there is none. */
  revoke(n: number): Promise<string | null>;
  /** The same array as long as nothing has changed. A file that cannot be understood allows nothing. */
  rules(): readonly string[];
}

const EMPTY: z.infer<typeof fileSchema> = { version: VERSION, projects: {} };
const NO_RULES: readonly string[] = [];

/** Whether an entry for AllowedCommands stands for any program at all; such a one is ignored. */
export const tooWideRule = (rule: string): boolean => compileLists([rule], []).allowed.length === 0;

export function openRuleStore(home: string, root: string): RuleStore {
  const path = join(home, 'permissions.json');
  let seen = { stamp: '', rules: NO_RULES };
  const list = () => readUserFile(path, fileSchema, EMPTY).projects[root] ?? [];
  return {
    list,
    async add(rule, at) {
      await changeUserFile(path, fileSchema, EMPTY, ({ projects }) => {
        const own = projects[root] ?? [];
        if (own.some((old) => old.rule === rule)) return undefined;
        return { version: VERSION, projects: { ...projects, [root]: [...own, { rule, at }] } };
      });
    },
    async revoke(n) {
      let revoked: string | null = null;
      await changeUserFile(path, fileSchema, EMPTY, ({ projects: { [root]: own = [], ...projects } }) => {
        revoked = own[n - 1]?.rule ?? null;
        if (revoked === null) return undefined;
        const left = own.filter((_, at) => at !== n - 1);
        return { version: VERSION, projects: left.length === 0 ? projects : { ...projects, [root]: left } };
      });
      return revoked;
    },
    rules() {
      const stamp = stampOf(path);
      if (stamp === seen.stamp) return seen.rules;
      let rules = NO_RULES;
      try {
        rules = list().map(({ rule }) => rule);
      } catch {
        // Told by `odin permissions` and `odin doctor`; here it only means that nothing more is allowed.
      }
      seen = { stamp, rules };
      return rules;
    },
  };
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : 'none';
}
