// Wrappers (R7) are taken off and the command inside is judged: env, timeout, xargs and their like, `sh -c TEXT`, and the
// builtins that run their arguments. What the wrapper itself does beyond that is judged here.

import { type Call, FLOW, type Judge, needs } from './judge.ts';
import { type Grammar, grammar, scan } from './options.ts';
import { judgePath, outside } from './paths.ts';
import { textOf } from './programs/builtins.ts';
import { plainName, SHELLS } from './programs/names.ts';
import { judgeOptions } from './programs/read.ts';
import { isVersionQuery, judgeRunner } from './programs/runners.ts';
import { copyScope } from './scope.ts';
import { assign } from './variables.ts';
import { type Field, isKnown, plainField, UNKNOWN, unknownField } from './words.ts';

/** Options of wrappers that run the rest; `leading` words stand before the command. */
interface Wrapper {
  readonly rules: Grammar;
  readonly leading?: number;
}

const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  [
    'timeout',
    { rules: grammar('-fpv -k# -s# --foreground --kill-after# --preserve-status --signal# --verbose'), leading: 1 },
  ],
  ['nice', { rules: grammar('-0123456789 -n# --adjustment#') }],
  ['ionice', { rules: grammar('-t -c# -n# -p! -P! -u! --class# --classdata# --ignore --pid! --pgid! --uid!') }],
  ['stdbuf', { rules: grammar('-i# -o# -e# --input# --output# --error#') }],
  ['nohup', { rules: grammar('-') }],
  ['setsid', { rules: grammar('-cw -f! --ctty --wait --fork!') }],
  ['time', { rules: grammar('-apqvV -f# -o> --append --format# --output> --portability --quiet --verbose') }],
]);

/** Takes off a wrapper and judges what it runs; false when the call is none. */
export function judgeWrapped(judge: Judge, call: Call): boolean {
  const name = call.name === 'gtimeout' ? 'timeout' : call.name;
  if (isVersionQuery(name, call.args) && name !== 'command' && name !== 'builtin')
    return WRAPPERS.has(name) || name === 'env' || name === 'xargs';
  const wrapper = WRAPPERS.get(name);
  if (wrapper !== undefined) judgeSimpleWrapper(judge, call, name, wrapper);
  else if (name === 'env') judgeEnv(judge, call);
  else if (name === 'command' || name === 'builtin') judgeCommandBuiltin(judge, call);
  else if (name === 'xargs') judgeXargs(judge, call);
  else if (name === 'exec') judgeExec(judge, call);
  else if (name === 'eval') judgeEval(judge, call);
  else if (name === 'trap') judgeTrap(judge, call);
  else if (SHELLS.has(plainName(name))) judgeShell(judge, call);
  else return false;
  return true;
}

function judgeSimpleWrapper(judge: Judge, call: Call, name: string, wrapper: Wrapper): void {
  const found = scan(call.args, wrapper.rules, true);
  judgeOptions(judge, name, { ...found, unsure: [] }, call.scope);
  const inner = found.operands.slice(wrapper.leading ?? 0);
  if (name === 'nohup' && inner.length > 0) judgePath(judge, plainField('nohup.out'), 'write', call.scope);
  judge.command(inner, call.scope);
}

const ENV_RULES = grammar(
  '-0iv -u# -C~ -S# -P! -a# --null --ignore-environment --debug --unset# --chdir~ --split-string# --argv0# --block-signal? --default-signal?',
  '--ignore-signal? --list-signal-handling',
);

function judgeEnv(judge: Judge, call: Call): void {
  const found = scan(call.args[0]?.text === '-' ? call.args.slice(1) : call.args, ENV_RULES, true);
  judgeOptions(judge, 'env', { ...found, unsure: [] }, call.scope);
  const scope = copyScope(call.scope);
  for (const option of found.options) {
    if (option.name === '-C' || option.name.startsWith('--ch')) {
      const folder = option.value;
      const known = folder !== undefined && isKnown(folder) ? folder.text : undefined;
      scope.cwds =
        known === undefined ? undefined : scope.cwds?.map((cwd) => (known.startsWith('/') ? known : `${cwd}/${known}`));
    } else if ((option.name === '-u' || option.name.startsWith('--unset')) && option.value !== undefined) {
      assign(judge, option.value.text, scope, 'plain');
    }
  }
  let at = 0;
  for (; at < found.operands.length; at++) {
    const name = /^([^=]+)=/.exec(found.operands[at]?.text ?? '')?.[1];
    if (name === undefined) break;
    assign(judge, name, scope, 'exported');
  }
  const inner = found.operands.slice(at);
  const split = found.options.find((option) => option.name === '-S' || option.name.startsWith('--sp'))?.value;
  if (split !== undefined) return judgeSplit(judge, split, inner, call);
  if (inner.length > 0) return judge.command(inner, scope);
  judge.part.flow |= FLOW.environment;
  needs(judge, 'secret', 'env alone prints the environment, which may hold keys.');
}

/** env -S has a quoting of its own: approval always, and a look at what its words plainly say. */
function judgeSplit(judge: Judge, split: Field, inner: readonly Field[], call: Call): void {
  needs(judge, 'exec', 'env -S splits its text by rules of its own.', false);
  if (!isKnown(split)) return outside(judge, split.raw, 'run', 'the command it runs is not known in advance');
  const words = split.text
    .replace(/["'\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '');
  judgeEnv(judge, { ...call, name: 'env', args: [...words.map(plainField), ...inner] });
}

function judgeCommandBuiltin(judge: Judge, call: Call): void {
  const queries =
    call.name === 'command' && call.args.some((field, at) => /^-[pvV]*[vV][pvV]*$/.test(field.text) && at === 0);
  if (queries) return;
  const inner = call.args.filter((field, at) => !(at === 0 && /^(?:-p|--)$/.test(field.text)));
  judge.command(inner, call.scope);
}

const XARGS_RULES = grammar(
  '-0oprtx -a< -d# -E# -e? -I# -i? -L# -l? -n# -P# -s# -J# -R# -S# --null --arg-file< --delimiter# --eof? --replace? --max-lines? --max-args# --open-tty',
  '--max-procs# --interactive --process-slot-var# --no-run-if-empty --max-chars# --show-limits --verbose --exit',
);

/** xargs adds operands that nobody knows in advance. */
function judgeXargs(judge: Judge, call: Call): void {
  const found = scan(call.args, XARGS_RULES, true);
  judgeOptions(judge, 'xargs', { ...found, unsure: [] }, call.scope);
  const replace = found.options.find((option) => /^-[IiJ]$/.test(option.name) || option.name.startsWith('--replace'));
  const slot = found.options.find((option) => option.name.startsWith('--process'))?.value;
  if (slot !== undefined) assign(judge, slot.text, copyScope(call.scope), 'exported');
  if (found.operands.length === 0) return;
  if (replace === undefined) return judge.command([...found.operands, unknownField('what xargs adds')], call.scope);
  const mark = replace.value?.text ?? '{}';
  const inner = found.operands.map((field) =>
    mark !== '' && field.text.includes(mark)
      ? { ...field, text: field.text.replaceAll(mark, UNKNOWN), globAt: -1, literal: false }
      : field,
  );
  judge.command(replace.name === '-J' ? [...inner, unknownField('what xargs adds')] : inner, call.scope);
}

function judgeExec(judge: Judge, call: Call): void {
  needs(judge, 'exec', 'exec replaces the shell.');
  const found = scan(call.args, grammar('-cl -a#'), true);
  judgeOptions(judge, 'exec', { ...found, unsure: [] }, call.scope);
  judge.command(found.operands, call.scope);
}

function judgeEval(judge: Judge, call: Call): void {
  judge.part.flow |= FLOW.interpreter;
  needs(judge, 'exec', 'eval runs its text as a command.', false);
  const args = call.args[0]?.text === '--' ? call.args.slice(1) : call.args;
  const text = textOf(args);
  if (text === undefined)
    return outside(
      judge,
      args.map((field) => field.raw).join(' '),
      'run',
      'the command it runs is not known in advance',
    );
  judge.script(text, call.scope);
  // The text runs in this shell and may have moved it.
  if (/cd|pushd|popd/.test(text)) call.scope.cwds = undefined;
}

function judgeTrap(judge: Judge, call: Call): void {
  needs(judge, 'exec', 'trap runs its text later.', false);
  const operands = call.args.filter((field) => !/^-[lp]*-?$/.test(field.text));
  const action = operands.length > 1 ? operands[0] : undefined;
  if (action === undefined) return;
  if (isKnown(action)) judge.script(action.text, copyScope(call.scope));
  else outside(judge, action.raw, 'run', 'the command it runs is not known in advance');
}

/** Shells whose text means what bash makes of it. */
const POSIX_SHELLS = new Set(['sh', 'bash', 'dash', 'ash']);

/** `sh -c TEXT` is judged as the text; everything else a shell does runs code (R7, R8). */
function judgeShell(judge: Judge, call: Call): void {
  judge.part.flow |= FLOW.interpreter;
  if (isVersionQuery(call.name, call.args)) return;
  const { args } = call;
  let at = 0;
  let runsText = false;
  let strange: string | undefined;
  for (; at < args.length; at++) {
    const field = args[at];
    const text = field?.text ?? '';
    if (field === undefined || !/^[-+]./.test(text)) break;
    if (text === '--') {
      at++;
      break;
    }
    if (!text.startsWith('--') && text.startsWith('-') && text.includes('c')) runsText = true;
    if (!/^-[ceux]+$/.test(text)) strange ??= field.raw;
    if (/^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(text)) at++;
  }
  const script = args[at];
  if (!runsText || script === undefined) return judgeRunner(judge, call);
  if (!POSIX_SHELLS.has(plainName(call.name))) needs(judge, 'exec', `${call.name} reads a language of its own.`, false);
  if (strange !== undefined)
    needs(judge, 'exec', `${call.name} ${strange} reads start-up files or changes how the text is read.`, false);
  if (!isKnown(script) || script.globAt >= 0 || script.process) {
    return outside(judge, script.raw, 'run', 'the script it runs is not known in advance');
  }
  // What is left are the script's own parameters, which it cannot use without being unknown there.
  judge.script(script.text, { ...copyScope(call.scope), functions: new Map() });
}
