// `odin permissions list|revoke`: the rules that "always" has made for this project.

import { openRuleStore } from '../../orchestrator/permissions-rules.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

export async function listPermissions({ json }: { readonly json?: boolean }): Promise<number> {
  const rules = storeHere().list();
  if (json === true) {
    rules.forEach((rule, at) => process.stdout.write(jsonLine({ n: at + 1, ...rule })));
  } else if (rules.length === 0) {
    process.stderr.write('No command is allowed for always here.\n');
  } else {
    const rows = rules.map(({ rule, at }, n) => [
      String(n + 1),
      new Date(at).toISOString().slice(0, 10),
      cleanLine(rule),
    ]);
    process.stdout.write(table([['N', 'SINCE', 'COMMANDS THAT BEGIN WITH'], ...rows]));
  }
  return EXIT.completed;
}

export async function revokePermission(n: number): Promise<number> {
  const rule = await storeHere().revoke(n);
  if (rule === null) throw new UserError(`there is no rule ${n}. \`odin permissions list\` shows which there are.`);
  process.stdout.write(`no longer allowed: ${cleanLine(rule)}\n`);
  return EXIT.completed;
}

function storeHere() {
  const { cwd, home } = placeHere();
  return openRuleStore(home, findRoot(cwd));
}
