// The rule that "always allow" may offer (SAFETY 2.3): the narrowest token prefix, and only where an entry of
// AllowedCommands would have an effect and say no more than the person saw.

import { decide } from './decide.ts';
import { severity } from './decision.ts';
import type { Facts } from './facts.ts';
import { gitArgv } from './git.ts';
import { parseShell } from './parse.ts';

/**
 * The entry for AllowedCommands that covers exactly this command, or undefined when none may be offered: several commands,
 * a redirection, anything expanded or evaluated, a bare runner, or a class that no entry lowers.
 */
export function suggestRule(command: string, facts: Facts): string | undefined {
  const decision = decide(command, facts);
  if (decision.class !== 'needs-approval-edit' || !decision.literal) return undefined;
  const parsed = parseShell(command);
  const statement = parsed.ok && parsed.script.commands.length === 1 ? parsed.script.commands[0] : undefined;
  const node = statement?.background === true ? undefined : statement?.command;
  if (node?.type !== 'Command' || node.name === undefined || node.prefix.length > 0 || node.redirects.length > 0)
    return undefined;
  const words = [node.name, ...node.args];
  const argv = words.flatMap((word) => (word.type === 'Word' ? [word.value] : []));
  if (argv.length < words.length) return undefined;
  const plain = argv[0] === 'git' ? gitArgv(argv) : argv;
  if (plain.length < 2 && !(plain[0] ?? '').includes('/')) return undefined;
  const rule = plain.map(quote).join(' ');
  // Only a rule that does what it says is worth offering: it must lower this very command.
  const after = decide(command, { ...facts, allowed: [rule] });
  return severity(after.class) < severity(decision.class) ? rule : undefined;
}

const quote = (token: string): string =>
  /^[\w@%+=:,./-]+$/.test(token) ? token : `'${token.replaceAll("'", "'\\''")}'`;
