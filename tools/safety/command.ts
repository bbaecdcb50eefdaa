// One simple command after expansion: which program it is (R4), what the lists say (R14), and to whose rules it goes.

import { gitArgv, judgeGit } from './git.ts';
import { type Call, FLOW, forbid, type Judge, needs } from './judge.ts';
import { isAllowed, isForbidden } from './lists.ts';
import { outside } from './paths.ts';
import { isAscii } from './precheck.ts';
import { judgeDd, judgeMktemp, judgeTar } from './programs/archive.ts';
import { judgeAwk, judgeJq, judgeXxd } from './programs/awk.ts';
import {
  judgeCd,
  judgeDeclare,
  judgeHash,
  judgeKill,
  judgePopd,
  judgePrintf,
  judgePrinting,
  judgeService,
  judgeSet,
  judgeShellChange,
  judgeVariableWords,
  judgeWait,
  SHELL_CHANGERS,
  SILENT,
} from './programs/builtins.ts';
import { judgeContainer } from './programs/containers.ts';
import { judgeFind } from './programs/find.ts';
import { judgeLink } from './programs/link.ts';
import { CONTAINERS, DECODERS, NETWORK, plainName, whyForbidden } from './programs/names.ts';
import { judgeNetwork } from './programs/network.ts';
import { judgeReader } from './programs/read.ts';
import { READERS } from './programs/readers.ts';
import { judgeRunner } from './programs/runners.ts';
import { judgeSed } from './programs/sed.ts';
import { judgeTest } from './programs/test-command.ts';
import { isWriter, judgeWriter } from './programs/writers.ts';
import type { Scope } from './scope.ts';
import { type Field, isKnown } from './words.ts';
import { judgeWrapped } from './wrappers.ts';

type Rule = (judge: Judge, call: Call) => void;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['git', judgeGit],
  ['find', judgeFind],
  ...['sed', 'gsed'].map((name) => [name, judgeSed] as const),
  ...['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, judgeAwk] as const),
  ['jq', judgeJq],
  ['xxd', judgeXxd],
  ...['test', '['].map((name) => [name, judgeTest] as const),
  ...['cd', 'pushd', 'chdir'].map((name) => [name, judgeCd] as const),
  ['popd', judgePopd],
  ['set', judgeSet],
  ...['export', 'declare', 'typeset', 'local', 'readonly'].map((name) => [name, judgeDeclare] as const),
  ...['read', 'mapfile', 'readarray', 'getopts', 'unset'].map((name) => [name, judgeVariableWords] as const),
  ['printf', judgePrintf],
  ['wait', judgeWait],
  ['kill', judgeKill],
  ...['systemctl', 'service'].map((name) => [name, judgeService] as const),
  ...['hostname', 'umask'].map((name) => [name, judgePrinting] as const),
  ['hash', judgeHash],
  ...SHELL_CHANGERS.map((name) => [name, judgeShellChange] as const),
  ['ln', judgeLink],
  ['dd', judgeDd],
  ...['tar', 'bsdtar', 'gtar'].map((name) => [name, judgeTar] as const),
  ['mktemp', judgeMktemp],
]);

/** Judges an argv whose first field is the program. */
export function judgeCommand(judge: Judge, fields: readonly Field[], scope: Scope): void {
  const program = fields[0];
  if (program === undefined) return;
  for (const field of fields) judge.literal &&= field.literal;
  if (!isKnown(program) || program.globAt >= 0 || program.process) {
    return outside(judge, program.raw, 'run', 'which program it is, is not known');
  }
  if (!isAscii(program.text))
    return forbid(judge, `The command name ${JSON.stringify(program.text)} is not plain ASCII.`);
  const name = programName(judge, program, scope);
  const args = fields.slice(1);
  const texts = args.map((field) => field.text);
  // ForbiddenCommands compare by basename; AllowedCommands with the path that was given.
  judgeLists(judge, [name ?? basename(program.text), ...texts], [program.text, ...texts]);
  if (name !== undefined) judgeProgram(judge, { name, args, scope });
  else judgeProjectProgram(judge, { name: basename(program.text), args, scope });
}

const TRUSTED = /^(?:\/usr(?:\/local)?)?\/s?bin$/;

/** The program's name when it is one of the system's; undefined for a file named by its path. Notes where that lies. */
function programName(judge: Judge, program: Field, scope: Scope): string | undefined {
  const text = judge.facts.caseInsensitive === true ? program.text.toLowerCase() : program.text;
  if (!text.includes('/')) return text;
  const folder = text.slice(0, text.lastIndexOf('/')) || '/';
  const starts = folder.startsWith('/') ? [''] : scope.cwds;
  if (starts === undefined) {
    outside(judge, program.raw, 'run', 'the folder it is relative to is not known');
    return undefined;
  }
  const folders = starts.map((start) => judge.facts.resolve(start === '' ? folder : `${start}/${folder}`));
  if (folders.every((path) => path !== undefined && TRUSTED.test(path))) return basename(text);
  const files = starts.map((start) => judge.facts.resolve(start === '' ? text : `${start}/${text}`));
  for (const file of files) {
    const inside = file !== undefined && (file === judge.root || file.startsWith(`${judge.root}/`));
    const system = file !== undefined && TRUSTED.test(file.slice(0, file.lastIndexOf('/')));
    if (system) {
      // A link in the project to a system program: judged as that program and as one of the project.
      needs(judge, 'exec', `${program.text} is a link to ${file}.`);
      return basename(file);
    }
    if (!inside) outside(judge, file ?? program.raw, 'program', 'the program is outside of the project');
  }
  return undefined;
}

/** A program that is a file: it runs code, whatever it is called; but what is forbidden stays so under any path. */
function judgeProjectProgram(judge: Judge, call: Call): void {
  const why = whyForbidden(call.name);
  if (why !== undefined) return forbid(judge, `${call.name} ${why}; that is never allowed.`);
  needs(judge, 'exec', `${call.name} is a program named by its path.`);
  judgeRunner(judge, { ...call, name: `./${call.name}` });
}

function judgeLists(judge: Judge, argv: readonly string[], given: readonly string[]): void {
  const git = argv[0] === 'git';
  const plain = git ? gitArgv(argv) : argv;
  const entry = isForbidden(judge.lists, plain) ?? isForbidden(judge.lists, argv);
  if (entry !== undefined) forbid(judge, `ForbiddenCommands has "${entry.join(' ')}".`);
  const typed = git ? [given[0] ?? '', ...gitArgv(argv).slice(1)] : given;
  if (isAllowed(judge.lists, typed)) judge.part.allowed = true;
  if (judge.part.argv.length === 0) judge.part.argv = given;
}

function judgeProgram(judge: Judge, call: Call): void {
  const { name } = call;
  const why = whyForbidden(name);
  if (why !== undefined) return forbid(judge, `${name} ${why}; that is never allowed.`);
  if (DECODERS.has(name)) judge.part.flow |= FLOW.decoded;
  if (name === 'odin' && !call.args.every((field) => /^--?(?:version|help|V|h)$/.test(field.text))) {
    return forbid(judge, "Commands may not drive Odin itself; use Odin's tools.");
  }
  if (name === 'printenv') {
    judge.part.flow |= FLOW.environment;
    return needs(judge, 'secret', 'printenv prints the environment, which may hold keys.');
  }
  if (SILENT.has(name) || judgeWrapped(judge, call)) return;
  const reader = READERS.get(name);
  const rule = RULES.get(name);
  if (rule !== undefined) rule(judge, call);
  else if (reader !== undefined) judgeReader(judge, call, reader);
  else if (isWriter(name)) judgeWriter(judge, call);
  else if (NETWORK.has(plainName(name))) judgeNetwork(judge, call);
  else if (CONTAINERS.has(name)) judgeContainer(judge, call);
  else judgeRunner(judge, call);
}

const basename = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
