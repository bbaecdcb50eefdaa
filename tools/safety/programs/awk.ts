// awk and jq: programs of one argument that only read, unless their text reaches further (R16).

import { type Call, type Judge, needs } from '../judge.ts';
import { grammar, scan } from '../options.ts';
import { judgePath } from '../paths.ts';
import { type Field, isKnown } from '../words.ts';
import { judgeOptions } from './read.ts';

const AWK_RULES = grammar(
  '-F# -v# -f! -E! -e! -i! -l! -o! -d! -p! -D! -W! -cCgnNrsStOPbMhV --field-separator# --assign# --file! --exec! --source! --include! --load!',
  '--dump-variables! --pretty-print! --profile! --debug! --posix --traditional --re-interval --sandbox --lint? --csv -k',
);
const AWK_REACHES = /system|\||>|getline|@|ENVIRON|ARGV|ARGC|SYMTAB|FUNCTAB|PROCINFO|extension/;

/** Judges a call of awk. */
export function judgeAwk(judge: Judge, call: Call): void {
  const found = scan(call.args, AWK_RULES, true);
  const byFile = judgeOptions(judge, 'awk', found, call.scope);
  const program = byFile ? undefined : found.operands[0];
  if (program !== undefined && !(isKnown(program) && program.globAt < 0)) {
    needs(judge, 'exec', 'The awk program is not known in advance and could run programs.');
  } else if (program !== undefined && AWK_REACHES.test(program.text)) {
    needs(judge, 'exec', 'The awk program can run programs, write files or read the environment.');
  }
  for (const field of found.operands.slice(byFile ? 0 : 1)) {
    if (field.text !== '-' && !/^[A-Za-z_]\w*=/.test(field.text)) judgePath(judge, field, 'read', call.scope);
  }
}

const JQ_ARGUMENT_PAIRS: ReadonlyMap<string, 'text' | 'read'> = new Map([
  ['--arg', 'text'],
  ['--argjson', 'text'],
  ['--slurpfile', 'read'],
  ['--rawfile', 'read'],
  ['--argfile', 'read'],
]);
const JQ_FLAGS = new Set(
  (
    '--null-input --raw-input --slurp --compact-output --raw-output --join-output --ascii-output --sort-keys --color-output ' +
    '--monochrome-output --tab --unbuffered --stream --stream-errors --seq --exit-status --raw-output0 --binary --ascii ' +
    '--help --version --build-configuration'
  ).split(' '),
);
// `.env` and `$env` are fields and variables; `env` and `$ENV` are the environment.
const JQ_REACHES =
  /\$ENV\b|(?<![.\w$"])env\b(?!["\w:])|\b(?:import|include|input_filename|get_search_list|modulemeta)\b/;

/** Judges a call of jq. */
export function judgeJq(judge: Judge, call: Call): void {
  const operands: Field[] = [];
  let filterGiven = false;
  let textOnly = false;
  for (let at = 0; at < call.args.length; at++) {
    const field = call.args[at];
    if (field === undefined) break;
    const pair = JQ_ARGUMENT_PAIRS.get(field.text);
    const next = call.args[at + 1];
    if (pair !== undefined) {
      const value = call.args[at + 2];
      if (pair === 'read' && value !== undefined) judgePath(judge, value, 'read', call.scope);
      at += 2;
    } else if (field.text === '--args' || field.text === '--jsonargs') textOnly = true;
    else if (/^(?:-[a-zA-Z]*[fL]|--from-file|--library-path)$/.test(field.text)) {
      if (next !== undefined) judgePath(judge, next, 'read', call.scope);
      needs(judge, 'secret', 'A jq program from a file can read the environment.');
      filterGiven ||= !field.text.endsWith('L');
      at++;
    } else if (field.text === '--indent') at++;
    else if (/^-[nrcsSejaCMRb]+$/.test(field.text) || JQ_FLAGS.has(field.text) || field.text === '--') continue;
    else if (field.text.startsWith('-') && field.text !== '-')
      needs(judge, 'exec', `jq ${field.raw} is not known to be harmless.`);
    else operands.push(field);
  }
  judgeOperands(judge, call, operands, filterGiven, textOnly);
}

function judgeOperands(
  judge: Judge,
  call: Call,
  operands: readonly Field[],
  filterGiven: boolean,
  textOnly: boolean,
): void {
  const filter = filterGiven ? undefined : operands[0];
  if (filter !== undefined && !isKnown(filter)) needs(judge, 'secret', 'The jq program is not known in advance.');
  else if (filter !== undefined && JQ_REACHES.test(filter.text)) {
    needs(judge, 'secret', 'The jq program reads the environment or other files.');
  }
  if (textOnly) return;
  for (const field of operands.slice(filterGiven ? 0 : 1)) judgePath(judge, field, 'read', call.scope);
}

const XXD_VALUES = /^-(?:c|cols|g|groupsize|l|len|s|seek|skip|o|offset|n|name|R)$/;

/** Judges a call of xxd: its second operand is written. */
export function judgeXxd(judge: Judge, call: Call): void {
  const operands: Field[] = [];
  for (let at = 0; at < call.args.length; at++) {
    const field = call.args[at];
    if (field === undefined) break;
    if (XXD_VALUES.test(field.text)) at++;
    else if (!field.text.startsWith('-') || field.text === '-') operands.push(field);
  }
  for (const [at, field] of operands.entries()) {
    if (field.text !== '-') judgePath(judge, field, at === 0 ? 'read' : 'write', call.scope);
  }
}
