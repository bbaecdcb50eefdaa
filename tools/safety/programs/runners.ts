// Programs that run code (R8) and programs nobody has described (R15): approval always, and their operands are searched
// for places outside of the project.

import { type Call, FLOW, forbid, type Judge, needs, note } from '../judge.ts';
import { isForbidden } from '../lists.ts';
import { outside } from '../paths.ts';
import { type Field, isKnown } from '../words.ts';
import { CARRIERS, INTERPRETERS, isKnownTool, PACKAGE_MANAGERS, plainName, SHELLS, whyForbidden } from './names.ts';
import { forbidControlTargets, judgeStray } from './stray.ts';

/** Interpreters whose `-v` is not a version query: they would read a program. */
const VERBOSE = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'mksh',
  'ash',
  'csh',
  'tcsh',
  'rbash',
  'python',
  'pypy',
  'ipython',
  'expect',
  'tclsh',
]);

/** R8: a lone version or help option of a known tool only prints. */
export function isVersionQuery(name: string, args: readonly Field[]): boolean {
  const only = args.length === 1 ? args[0] : undefined;
  if (only === undefined || !isKnownTool(name)) return false;
  if (only.text === '--version' || only.text === '--help') return true;
  if (only.text === '-v') return !VERBOSE.has(plainName(name));
  return only.text === '-V' && !SHELLS.has(plainName(name));
}

/** Options whose value is code or text, never a path. */
const CODE =
  /^(?:-c|-e|-E|-p|-ne|-pe|-pie|-nle|-lne|-ple|-r|--eval|--print|--command|-m|--message|--grep|-t|-k|--testNamePattern|--title|--body)$/;
const IN_PLACE = new Set(['ed', 'ex', 'vi', 'vim', 'nvim', 'nano', 'emacs', 'patch', 'sponge']);

/** Judges a program that runs code, or an unknown one. */
export function judgeRunner(judge: Judge, call: Call): void {
  const name = plainName(call.name);
  if (isVersionQuery(call.name, call.args)) return;
  if (SHELLS.has(name) || INTERPRETERS.has(name) || name === 'source' || name === '.' || name === 'eval') {
    judge.part.flow |= FLOW.interpreter;
  }
  if (PACKAGE_MANAGERS.has(name)) judgePackages(judge, call, name);
  else if (isKnownTool(call.name)) needs(judge, 'exec', `${call.name} runs code.`);
  else needs(judge, 'exec', `${call.name} is not a program Odin knows.`);
  for (const [at, field] of call.args.entries()) {
    const previous = call.args[at - 1]?.text ?? '';
    if (CODE.test(previous) && (isKnown(field) || INTERPRETERS.has(name))) {
      if (!isKnown(field)) outside(judge, field.raw, 'run', 'the code it runs is not known in advance');
      continue;
    }
    judgeStray(judge, field, 'run', call.scope);
  }
  const inPlace =
    IN_PLACE.has(name) ||
    ((name === 'perl' || name === 'ruby') && call.args.some((field) => /^-[a-zA-Z]*i/.test(field.text)));
  if (inPlace) forbidControlTargets(judge, call.args, call.scope);
  if (CARRIERS.has(name)) judgeCarried(judge, call.args);
}

/** A program that runs the command in its arguments must not carry a forbidden one. */
export function judgeCarried(judge: Judge, args: readonly Field[]): void {
  for (const [at, field] of args.entries()) {
    for (const text of field.text.split(/[\s;&|()'"`]+/)) {
      const why = whyForbidden(text.slice(text.lastIndexOf('/') + 1));
      if (why !== undefined) forbid(judge, `${field.raw} ${why}; that is never allowed.`);
    }
    const entry = isForbidden(
      judge.lists,
      args.slice(at).map((rest) => rest.text),
    );
    if (entry !== undefined) forbid(judge, `ForbiddenCommands has "${entry.join(' ')}".`);
  }
}

const INSTALLS =
  /^(?:install|i|in|ci|add|update|upgrade|up|outdated|audit|publish|view|info|search|login|logout|whoami|exec|dlx|x|create|init|download|get|fetch|sync|pull|push|remove|uninstall|un|rm|link|global|mod|clean-install|isntall|ping|token|pack|wheel|require|tool|refresh|dist-upgrade|restore|lock)$/;
const ALWAYS_NETWORK = new Set([
  'npx',
  'pnpx',
  'bunx',
  'uvx',
  'pipx',
  'cpan',
  'cpanm',
  'easy_install',
  'nix-shell',
  'nix-env',
]);

function judgePackages(judge: Judge, call: Call, name: string): void {
  const verb = call.args.find((field) => !field.text.startsWith('-'))?.text ?? '';
  const installs = ALWAYS_NETWORK.has(name) || INSTALLS.test(verb) || (name === 'yarn' && call.args.length === 0);
  if (!installs) return needs(judge, 'exec', `${name} runs code of the project.`);
  judge.part.flow |= FLOW.network | FLOW.download;
  needs(
    judge,
    'network',
    `${name} ${verb} reaches the network and can run code of packages.`,
    judge.facts.tainted !== true,
  );
  if (call.args.some((field) => field.substituted)) {
    note(judge, 'forbidden', 'network', `${name} with a command substitution could carry data out.`, false);
  }
  const global =
    call.args.some((field) => /^(?:-g|--global|--location=global|--user|--system)$/.test(field.text)) ||
    (verb === 'global' && name === 'yarn');
  if (global) outside(judge, `${name} ${verb}`, 'run', 'it installs outside of the project');
}
