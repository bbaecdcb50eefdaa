// git (R14, R16): its global options, which subcommands only read, and in which form. What a repository's configuration
// makes git run is for the sandbox to contain; here only what the command line asks for counts.

import { judgeConfig, judgeListing, LISTINGS } from './git-lists.ts';
import { type Call, FLOW, type Judge, needs, note } from './judge.ts';
import { type Access, judgePath } from './paths.ts';
import { judgeStray } from './programs/stray.ts';
import { isSecretName } from './protected.ts';
import { copyScope, type Scope } from './scope.ts';
import { type Field, isKnown, sliceField } from './words.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const READS = words(
  'status log diff show rev-parse ls-files ls-tree cat-file blame annotate grep describe shortlog reflog merge-base rev-list for-each-ref check-ignore',
);
const NETWORK = words(
  'push fetch pull clone ls-remote submodule remote-update archive-remote send-email svn p4 fetch-pack send-pack request-pull',
);
const GLOBAL_FLAGS = words(
  '-P --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice',
);
const GLOBAL_PRINTS = words('--version -v --help -h --html-path --man-path --info-path');

/** Long options that run something or write; any unambiguous beginning counts as the whole. */
const DANGEROUS = [
  'ext-diff',
  'textconv',
  'output',
  'open-files-in-pager',
  'exec-path',
  'paginate',
  'filters',
  'show-signature',
  'config-env',
  'upload-pack',
  'receive-pack',
  'output-directory',
];
const HARMLESS_BEGINNINGS = words('text o');
const PATH_OPTIONS =
  /^--(?:exclude-from|exclude-per-directory|pathspec-from-file|contents|ignore-revs-file|mailmap-file|git-dir|prefix|relative|src-prefix)$/;

export interface GitCommand {
  readonly subcommand: string | undefined;
  readonly args: readonly Field[];
}

/** Splits off the global options; pure, for the lists (R14). */
export function gitArgv(argv: readonly string[]): readonly string[] {
  let at = 1;
  while (at < argv.length && argv[at]?.startsWith('-') === true) at += takesValue(argv[at] ?? '') ? 2 : 1;
  return at === 1 ? argv : ['git', ...argv.slice(at)];
}

const takesValue = (option: string): boolean =>
  /^(?:-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env|--attr-source)$/.test(option);

/** Judges a call of git. */
export function judgeGit(judge: Judge, call: Call): void {
  const scope = copyScope(call.scope);
  let at = 0;
  for (; at < call.args.length; at++) {
    const option = call.args[at];
    if (option === undefined || !option.text.startsWith('-')) break;
    const next = call.args[at + 1];
    judgeGlobal(judge, option, next, scope);
    if (takesValue(option.text)) at++;
  }
  const subcommand = call.args[at];
  if (subcommand === undefined) return;
  judgeSubcommand(judge, subcommand, call.args.slice(at + 1), scope);
}

function judgeGlobal(judge: Judge, option: Field, next: Field | undefined, scope: Scope): void {
  const [name = '', ...values] = option.text.split('=');
  const attached = values.length > 0 ? sliceField(option, name.length + 1) : undefined;
  if (name === '-C') {
    if (next === undefined) return;
    judgePath(judge, next, 'look', scope);
    scope.cwds = isKnown(next)
      ? scope.cwds?.map((cwd) => (next.text.startsWith('/') ? next.text : `${cwd}/${next.text}`))
      : undefined;
  } else if (name === '--git-dir' || name === '--work-tree') {
    const value = attached ?? next;
    if (value !== undefined) judgePath(judge, value, 'look', scope);
  } else if (
    !GLOBAL_FLAGS.has(option.text) &&
    !GLOBAL_PRINTS.has(option.text) &&
    !/^--(?:namespace|list-cmds|attr-source)$/.test(name)
  ) {
    needs(judge, 'exec', `git ${option.raw} can name a program to run.`);
    if (attached !== undefined) judgeStray(judge, attached, 'run', scope);
  }
}

function judgeSubcommand(judge: Judge, subcommand: Field, args: readonly Field[], scope: Scope): void {
  const name = subcommand.text;
  if (!isKnown(subcommand) || subcommand.globAt >= 0) {
    return note(
      judge,
      'outside-approval',
      'exec',
      `git ${subcommand.raw}: which subcommand it is, is not known.`,
      false,
    );
  }
  const listing = LISTINGS.get(name);
  if (name === 'config') judgeConfig(judge, args, scope);
  else if (listing !== undefined) {
    if (judgeListing(judge, name, listing, args)) return judgeRead(judge, name, args, scope);
    return judgeChange(judge, name, args, scope);
  } else if (name === 'add') return judgeAdd(judge, args, scope);
  else if (READS.has(name)) return judgeRead(judge, name, args, scope);
  else return judgeChange(judge, name, args, scope);
}

function judgeRead(judge: Judge, name: string, args: readonly Field[], scope: Scope): void {
  if (!judge.facts.sandbox && !judge.facts.plainGitConfig) {
    needs(judge, 'exec', "Without a sandbox, git may run what the repository's configuration names.");
  }
  if (name === 'reflog' && /^(?:expire|delete|drop|write)$/.test(args[0]?.text ?? '')) {
    return needs(judge, 'delete', `git reflog ${args[0]?.text ?? ''} changes the repository.`);
  }
  const access: Access = /^(?:show|diff|log|blame|annotate|grep|cat-file)$/.test(name) ? 'read' : 'look';
  let operandsOnly = false;
  for (const [at, field] of args.entries()) {
    const previous = args[at - 1]?.text ?? '';
    if (operandsOnly || !field.text.startsWith('-') || field.text === '-') {
      const text = !operandsOnly && isText(name, previous, args, at) && !field.splits;
      if (!text) judgeRevisionOrPath(judge, field, access, scope);
    } else if (field.text === '--') operandsOnly = true;
    else judgeReadOption(judge, name, field, args[at + 1], scope);
  }
}

/** Whether an operand is a pattern or a number rather than a path. */
function isText(name: string, previous: string, args: readonly Field[], at: number): boolean {
  if (
    /^(?:--grep|--author|--committer|--since|--until|--after|--before|--format|--pretty|--sort|--date|-n|-e|-L|-G|-S|--max-count|--skip)$/.test(
      previous,
    )
  )
    return true;
  if (name !== 'grep') return false;
  return (
    !args.slice(0, at).some((field) => !field.text.startsWith('-') || /^(?:-e|-f)/.test(field.text)) &&
    !previousTakesNumber(previous)
  );
}

const previousTakesNumber = (previous: string): boolean => /^-[ABCm]$/.test(previous);

function judgeReadOption(judge: Judge, name: string, field: Field, next: Field | undefined, scope: Scope): void {
  const [long = '', ...values] = field.text.split('=');
  const value = values.length > 0 ? sliceField(field, long.length + 1) : undefined;
  const beginning = long.slice(2);
  if (!isKnown(field) && !isKnown({ ...field, text: long })) return judgePath(judge, field, 'read', scope);
  const dangerous = long.startsWith('--')
    ? beginning !== '' &&
      !HARMLESS_BEGINNINGS.has(beginning) &&
      DANGEROUS.some((option) => option.startsWith(beginning))
    : /^-[a-zA-Z]*O/.test(long);
  if (dangerous) {
    needs(judge, 'exec', `git ${name} ${field.raw} runs a program or writes a file.`);
    const target = value ?? (beginning.startsWith('out') ? next : undefined);
    if (target !== undefined) judgePath(judge, target, 'write', scope);
    else if (/^-O./.test(field.text)) judgeStray(judge, field, 'run', scope);
    return;
  }
  if (value !== undefined && (PATH_OPTIONS.test(long) || !isKnown(value))) judgeStray(judge, value, 'read', scope);
  else if (value === undefined && PATH_OPTIONS.test(long) && next !== undefined) judgeStray(judge, next, 'read', scope);
  else if (/^-[fXS][/.~]/.test(field.text)) judgeStray(judge, sliceField(field, 2), 'read', scope);
}

/** An operand that may be a revision, `revision:path`, or a path. */
function judgeRevisionOrPath(judge: Judge, field: Field, access: Access, scope: Scope): void {
  const name = field.text.slice(Math.max(field.text.lastIndexOf('/'), field.text.lastIndexOf(':')) + 1);
  if (access === 'read' && field.text.includes(':') && isSecretName(name)) {
    judge.part.flow |= FLOW.secret;
    needs(judge, 'secret', `${field.raw} may hold secrets; its text would leave the project.`);
  }
  if (field.text.startsWith(':') || field.text.startsWith('^')) return;
  judgePath(judge, field, access, scope);
}

function judgeAdd(judge: Judge, args: readonly Field[], scope: Scope): void {
  note(judge, 'deny-in-read-only', 'write', 'git add changes the index.');
  let operandsOnly = false;
  for (const field of args) {
    if (field.text === '--') operandsOnly = true;
    else if (operandsOnly || !field.text.startsWith('-')) judgeAdded(judge, field, scope);
    else if (/^-[a-zA-Z]*[pie]|^--(?:pa(?:tch)?$|int|ed)/.test(field.text)) {
      needs(judge, 'exec', `git add ${field.raw} can start an editor or a configured program.`);
    } else judgeStray(judge, field, 'write', scope);
  }
}

/** What is added is read into the index, not written; only where it lies counts. */
function judgeAdded(judge: Judge, field: Field, scope: Scope): void {
  const from = judge.part.findings.length;
  judgePath(judge, field, 'look', scope);
  for (const [at, finding] of judge.part.findings.entries()) {
    if (at >= from) judge.part.findings[at] = { ...finding, op: 'write' };
  }
}

const MESSAGE_OPTION = /^(?:-[a-z]*m|--message|--author|--date|--trailer|--grep|--pretty|--format)$/;
const REMOVES = words('rm mv checkout restore clean stash apply reset update-index');

function judgeChange(judge: Judge, name: string, args: readonly Field[], scope: Scope): void {
  const networked =
    NETWORK.has(name) || (name === 'remote' && /^(?:show|update|prune|set-head)$/.test(args[0]?.text ?? ''));
  const remote = name === 'archive' && args.some((field) => field.text.startsWith('--remote'));
  if (networked || remote) {
    judge.part.flow |= FLOW.network | FLOW.download;
    needs(judge, 'network', `git ${name} reaches another host.`, judge.facts.tainted !== true);
    if (args.some((field) => field.substituted)) {
      note(judge, 'forbidden', 'network', `git ${name} with a command substitution could carry data out.`, false);
    }
  } else needs(judge, 'exec', `git ${name} changes the repository or runs its hooks.`);
  for (const [at, field] of args.entries()) {
    const previous = args[at - 1]?.text ?? '';
    if (MESSAGE_OPTION.test(previous) || /^--(?:message|author|date)=/.test(field.text)) continue;
    if (/^(?:[\w.-]+@)[\w.-]+:/.test(field.text)) continue;
    if (REMOVES.has(name) && isKnown(field) && !field.text.startsWith('-')) judgeReplaced(judge, field, scope);
    else judgeStray(judge, field, networked ? 'network' : 'run', scope);
  }
}

/** A file that git removes or replaces, or a revision: only where it is, and whether it is Odin's own, adds anything. */
function judgeReplaced(judge: Judge, field: Field, scope: Scope): void {
  const from = judge.part.findings.length;
  judgePath(judge, field, 'write', scope);
  const found = judge.part.findings.splice(from);
  judge.part.findings.push(
    ...found.filter((finding) => finding.class === 'forbidden' || finding.class === 'outside-approval'),
  );
}
