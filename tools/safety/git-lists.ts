// The forms of git branch, tag, remote, stash and config that only list (R16).

import { type Judge, needs, note } from './judge.ts';
import { judgePath } from './paths.ts';
import { judgeStray } from './programs/stray.ts';
import type { Scope } from './scope.ts';
import { type Field, isKnown, sliceField } from './words.ts';

/** Options that keep the command a listing; `filters` are those that also make its operands patterns. */
interface Listing {
  readonly flags: RegExp;
  readonly filters?: RegExp;
  readonly takes?: RegExp;
  /** First operands that name a listing subcommand. */
  readonly verbs?: RegExp;
}

export const LISTINGS: ReadonlyMap<string, Listing> = new Map<string, Listing>([
  [
    'branch',
    {
      flags:
        /^(?:-[arvqil]+|--(?:all|remotes|verbose|quiet|list|show-current|color(?:=.*)?|no-color|column(?:=.*)?|no-column|ignore-case|abbrev(?:=.*)?|no-abbrev|sort=.*|format=.*|omit-empty|contains(?:=.*)?|no-contains(?:=.*)?|merged(?:=.*)?|no-merged(?:=.*)?|points-at(?:=.*)?|sort|format))$/,
      filters: /^(?:-[arvqi]*l[arvqi]*|--list|--(?:no-)?contains.*|--(?:no-)?merged.*|--points-at.*)$/,
      takes: /^--(?:sort|format|(?:no-)?contains|points-at)$/,
    },
  ],
  [
    'tag',
    {
      flags:
        /^(?:-[li]+|-n\d*|--(?:list|color(?:=.*)?|no-color|column(?:=.*)?|no-column|ignore-case|sort=.*|format=.*|omit-empty|contains(?:=.*)?|no-contains(?:=.*)?|merged(?:=.*)?|no-merged(?:=.*)?|points-at(?:=.*)?|sort|format))$/,
      filters: /^(?:-i*l|-n\d*|--list|--(?:no-)?contains.*|--(?:no-)?merged.*|--points-at.*)$/,
      takes: /^--(?:sort|format|(?:no-)?contains|points-at)$/,
    },
  ],
  ['remote', { flags: /^(?:-v|--verbose)$/, verbs: /^get-url$/ }],
  ['stash', { flags: /^(?!)$/, verbs: /^(?:list|show)$/ }],
]);

/** True when the form given only lists. */
export function judgeListing(judge: Judge, name: string, listing: Listing, args: readonly Field[]): boolean {
  if (args.some((field) => field.splits || !isKnown(field))) {
    note(judge, 'outside-approval', 'exec', `git ${name}: its arguments are not known in advance.`, false);
  }
  const operands = args.filter(
    (field, at) => !field.text.startsWith('-') && listing.takes?.test(args[at - 1]?.text ?? '') !== true,
  );
  if (listing.verbs !== undefined) {
    const verb = operands[0]?.text;
    if (verb !== undefined) return listing.verbs.test(verb) && (name === 'stash' || args[0]?.text === verb);
    return name !== 'stash' && args.every((field) => listing.flags.test(field.text));
  }
  const flags = args.filter((field) => field.text.startsWith('-') && field.text !== '--');
  if (!flags.every((field) => listing.flags.test(field.text))) return false;
  return operands.length === 0 || flags.some((field) => listing.filters?.test(field.text) === true);
}

const CONFIG_READS = /^(?:-l|--list|--get|--get-all|--get-regexp|--get-urlmatch|--get-color|--get-colorbool)$/;
const CONFIG_NEUTRAL =
  /^(?:--local|--worktree|--show-origin|--show-scope|--name-only|-z|--null|--includes|--no-includes|--bool|--int|--bool-or-int|--bool-or-str|--path|--expiry-date|--type(?:=.*)?|--no-type|--default(?:=.*)?|--all|--regexp|--value(?:=.*)?|--fixed-value|--url(?:=.*)?)$/;

/** Judges `git config`: reading inside is harmless, writing decides what git runs, global and system files are outside. */
export function judgeConfig(judge: Judge, args: readonly Field[], scope: Scope): void {
  const operands: Field[] = [];
  let reads = false;
  let strange = false;
  let outer: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const field = args[at];
    if (field === undefined) break;
    const text = field.text;
    if (CONFIG_READS.test(text)) reads = true;
    else if (/^--(?:gl|sy)/.test(text)) outer = text;
    else if (text === '-f' || text === '--file' || text === '--blob') {
      const file = args[++at];
      if (file !== undefined && text !== '--blob') judgePath(judge, file, 'read', scope);
    } else if (text.startsWith('--file=') || (text.startsWith('-f') && text.length > 2)) {
      judgePath(judge, sliceField(field, text.startsWith('--') ? 7 : 2), 'read', scope);
    } else if (CONFIG_NEUTRAL.test(text)) at += /^--(?:type|default|value|url)$/.test(text) ? 1 : 0;
    else if (text.startsWith('-')) strange = true;
    else operands.push(field);
  }
  const verb = operands[0]?.text;
  const lists = (verb === 'list' && operands.length === 1) || (verb === 'get' && operands.length <= 2);
  const only = !strange && (reads || lists || operands.length <= 1) && !(operands.length === 0 && !reads);
  if (outer !== undefined) {
    note(judge, 'outside-approval', only ? 'read' : 'write', `git config ${outer} is outside of the project.`, false);
  }
  for (const field of operands) if (field.splits) judgeStray(judge, field, 'run', scope);
  if (!only) return needs(judge, 'write', 'git config decides what git runs.');
  if (!judge.facts.sandbox && !judge.facts.plainGitConfig)
    needs(judge, 'exec', 'Without a sandbox, git needs approval.');
}
