// Bash's own commands (R3, R6, R8, R12): folder changes, variables, and the many that say or do nothing by themselves.

import { judgeVariableName } from '../expansions.ts';
import { type Call, forbid, type Judge, needs } from '../judge.ts';
import { judgePath, outside } from '../paths.ts';
import { assign } from '../variables.ts';
import { type Field, isKnown } from '../words.ts';
import { judgeStray } from './stray.ts';

/** Nothing that they are given matters. */
export const SILENT: ReadonlySet<string> = new Set([
  ...[':', 'true', 'false', 'echo', 'expr', 'shift', 'return', 'exit', 'break', 'continue', 'times'],
]);

/** Judges cd and pushd: the folder changes for what follows. */
export function judgeCd(judge: Judge, call: Call): void {
  const { scope } = call;
  const operands = call.args.filter((field) => !/^-[LPen@]+$/.test(field.text) && field.text !== '--');
  const target = operands[0];
  if (call.name === 'pushd' && (target === undefined || /^[+-]\d+$/.test(target.text)))
    return leave(judge, call, 'the folder stack is not tracked');
  if (target === undefined) {
    if (scope.home === undefined) return leave(judge, call, 'HOME was changed');
    outside(judge, scope.home, 'look', 'the home folder is outside of the project');
    scope.cwds = [scope.home];
    return;
  }
  if (target.text === '-' || !isKnown(target) || target.globAt >= 0) {
    return leave(judge, call, 'which folder it leads to is not known');
  }
  if (target.text === '') return;
  judgePath(judge, target, 'look', scope);
  const folders = scope.cwds === undefined && !target.text.startsWith('/') ? undefined : new Set<string>();
  for (const cwd of scope.cwds ?? ['/']) {
    const path = target.text.startsWith('/') ? target.text : `${cwd}/${target.text}`;
    // The shell itself takes `..` back by name, the kernel by where the link led.
    const byName = withoutDots(path);
    const byLink = judge.facts.resolve(path);
    folders?.add(byName);
    if (byLink === undefined) return leave(judge, call, 'its links form a loop');
    if (byLink !== judge.facts.resolve(byName)) folders?.add(byLink);
  }
  scope.cwds = folders === undefined ? undefined : [...folders];
  for (const folder of scope.cwds ?? []) judgePath(judge, { ...target, text: folder, globAt: -1 }, 'look', scope);
}

/** The folder becomes unknown. */
function leave(judge: Judge, call: Call, why: string): void {
  const shown = [call.name, ...call.args.map((field) => field.raw)].join(' ');
  outside(judge, shown, 'look', why);
  call.scope.cwds = undefined;
}

export function judgePopd(judge: Judge, call: Call): void {
  leave(judge, call, 'the folder stack is not tracked');
}

function withoutDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** `set` is neutral with -e, -u, -x and -o pipefail only (R6). */
export function judgeSet(judge: Judge, call: Call): void {
  const { args } = call;
  for (let at = 0; at < args.length; at++) {
    const text = args[at]?.text ?? '';
    if (/^-[eux]+$/.test(text)) continue;
    if (/^-[eux]*o$/.test(text) && args[at + 1]?.text === 'pipefail') at++;
    else return needs(judge, 'exec', `set ${args[at]?.raw ?? ''} changes how the shell reads commands.`, false);
  }
  if (args.length === 0) {
    judge.part.flow |= 8;
    needs(judge, 'secret', 'set alone prints all variables, which may hold keys.');
  }
}

const NAMES_ONLY = /^-[aArluip]*$/;

/** export, declare, typeset, local, readonly. The values of assignments have been visited already. */
export function judgeDeclare(judge: Judge, call: Call): void {
  const options = call.args.filter((field) => /^[-+]/.test(field.text));
  const names = call.args.filter((field) => !/^[-+]/.test(field.text));
  const letters = options.map((field) => field.text.slice(1)).join('');
  const exported = call.name === 'export' || letters.includes('x');
  if (names.length === 0 || letters.includes('p')) {
    judge.part.flow |= 8;
    return needs(judge, 'secret', `${call.name} prints variables, which may hold keys.`);
  }
  if (/[fFnitcI]/.test(letters) && !(call.name === 'readonly' && letters === 'f')) {
    needs(judge, 'exec', `${call.name} -${letters} lets variables run code or stand for others.`, false);
  }
  if (!options.every((field) => NAMES_ONLY.test(field.text) || /^[-+][aArluixgFfntI]+$/.test(field.text))) {
    needs(judge, 'exec', `${call.name} with these options is not known to be harmless.`, false);
  }
  for (const field of names) {
    const name = /^[A-Za-z_]\w*/.exec(field.text)?.[0];
    const target = field.text.split('=')[0] ?? '';
    if (!isKnown({ ...field, text: target })) outside(judge, field.raw, 'run', 'which variable it sets is not known');
    judgeVariableName(judge, target);
    if (name !== undefined) assign(judge, name, call.scope, exported ? 'exported' : 'plain');
  }
}

/** read, mapfile, getopts, unset, printf -v: words that name variables. */
export function judgeVariableWords(judge: Judge, call: Call): void {
  const { args, name } = call;
  const values = VALUE_OPTIONS[name] ?? '';
  let at = 0;
  for (; at < args.length; at++) {
    const text = args[at]?.text ?? '';
    if (!text.startsWith('-') || text === '-' || text === '--') break;
    const taken = [...text.slice(1)].findIndex((letter) => values.includes(letter));
    const letter = taken < 0 ? '' : (text[taken + 1] ?? '');
    if (/mapfile|readarray/.test(name) && letter === 'C') needs(judge, 'exec', `${name} -C runs a command.`, false);
    if (taken < 0) continue;
    const value = taken + 2 < text.length ? { ...args[at], text: text.slice(taken + 2) } : args[++at];
    if (name === 'read' && letter === 'a' && value !== undefined) setByName(judge, value.text ?? '', call);
  }
  const names = args.slice(at).filter((field) => field.text !== '--');
  for (const field of name === 'getopts' ? names.slice(1, 2) : names) setByName(judge, field.text, call);
}

const VALUE_OPTIONS: Readonly<Record<string, string>> = { read: 'adiNnptu', mapfile: 'CcdnOsu', readarray: 'CcdnOsu' };

function setByName(judge: Judge, text: string, call: Call): void {
  judgeVariableName(judge, text);
  if (text.includes('\u0000'))
    outside(judge, text.replaceAll('\u0000', '…'), 'run', 'which variable it sets is not known');
  const name = /^[A-Za-z_]\w*$/.exec(text)?.[0];
  if (name !== undefined) assign(judge, name, call.scope, 'plain');
}

/** printf is text, but -v names a variable. */
export function judgePrintf(judge: Judge, call: Call): void {
  const first = call.args[0]?.text ?? '';
  if (!first.startsWith('-v')) return;
  setByName(judge, first === '-v' ? (call.args[1]?.text ?? '') : first.slice(2), call);
}

/** wait -p names a variable. */
export function judgeWait(judge: Judge, call: Call): void {
  for (const field of call.args) if (field.text.includes('[')) judgeVariableName(judge, field.text);
}

/** kill: one process needs approval, all of them (`-1`) are forbidden (R12). */
export function judgeKill(judge: Judge, call: Call): void {
  const args = call.args.map((field) => field.text);
  let at = 0;
  if (args[0] === '-l' || args[0] === '-L') return needs(judge, 'exec', 'kill needs approval.');
  if (/^-(?:s|n)$/.test(args[0] ?? '')) at = 2;
  else if (/^-[A-Za-z0-9]/.test(args[0] ?? '') && args.length > 1) at = 1;
  if (args.slice(at).includes('-1')) forbid(judge, 'kill -1 signals every process; that is never allowed.');
  needs(judge, 'exec', 'kill signals a process.');
}

/** systemctl and service: looking at the state of one unit needs approval, the rest is forbidden (R12). */
export function judgeService(judge: Judge, call: Call): void {
  const operands = call.args.filter((field) => !field.text.startsWith('-')).map((field) => field.text);
  const verb = call.name === 'service' ? operands[1] : operands[0];
  const asks = call.args.length === 1 && /^--(?:version|help)$/.test(call.args[0]?.text ?? '');
  if (asks) return;
  if (verb !== 'status') return forbid(judge, `${call.name} ${verb ?? ''} changes services; that is never allowed.`);
  needs(judge, 'exec', `${call.name} status looks beyond the project.`);
}

/** hostname and umask print when they are given nothing. */
export function judgePrinting(judge: Judge, call: Call): void {
  if (call.name === 'hostname' ? call.args.every((field) => /^-[sfiIdAay]+$/.test(field.text)) : call.args.length === 0)
    return;
  needs(judge, 'exec', `${call.name} ${call.args.map((field) => field.raw).join(' ')} changes the system.`);
}

/** alias, shopt and the like change what later words mean; no entry of AllowedCommands covers that. */
export function judgeShellChange(judge: Judge, call: Call): void {
  needs(judge, 'exec', `${call.name} changes or shows the state of the shell.`, false);
  for (const field of call.args) judgeStray(judge, field, 'run', call.scope);
}

export const SHELL_CHANGERS = [
  ...['alias', 'unalias', 'let', 'shopt', 'enable', 'bind', 'complete', 'compopt', 'compgen', 'history', 'fc', 'jobs'],
  ...['fg', 'bg', 'disown', 'suspend', 'caller', 'dirs', 'ulimit', 'logout'],
];

/** hash without -p only forgets or lists. */
export function judgeHash(judge: Judge, call: Call): void {
  if (!call.args.every((field) => /^-[rlt]+$/.test(field.text)))
    needs(judge, 'exec', 'hash changes which programs run.', false);
}

export const textOf = (fields: readonly Field[]): string | undefined =>
  fields.every(isKnown) ? fields.map((field) => field.text).join(' ') : undefined;
