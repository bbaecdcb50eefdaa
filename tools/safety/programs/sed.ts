// sed (R10, R16): its options and files; what its scripts do beyond editing is sed-script.ts's to tell.

import { type Call, type Judge, needs } from '../judge.ts';
import { grammar, scan } from '../options.ts';
import { judgePath } from '../paths.ts';
import { type Field, isKnown, plainField } from '../words.ts';
import { judgeOptions } from './read.ts';
import { readSedScript } from './sed-script.ts';

const RULES = grammar(
  '-nrEsuzb -e# -f! -i? -I? -l# --quiet --silent --expression# --file! --in-place? --line-length# --regexp-extended --separate',
  '--unbuffered --null-data --zero-terminated --posix --debug --sandbox --follow-symlinks --binary',
);

/** Judges a call of sed. */
export function judgeSed(judge: Judge, call: Call): void {
  const found = scan(call.args, RULES);
  judgeOptions(judge, 'sed', found, call.scope);
  const scripts = found.options
    .filter((option) => option.name === '-e' || isLong(option.name, '--expression'))
    .flatMap((option) => option.value ?? []);
  const byFile = found.options.some((option) => option.kind === 'danger');
  const operands = [...found.operands];
  if (scripts.length === 0 && !byFile) scripts.push(...operands.splice(0, 1));
  const inPlace = found.options.some(({ name }) => name === '-i' || name === '-I' || isLong(name, '--in-place'));
  for (const field of operands) {
    if (field.text !== '-') judgePath(judge, field, inPlace ? 'write' : 'read', call.scope);
  }
  judgeScripts(judge, call, scripts);
}

const isLong = (name: string, full: string): boolean => name.length > 2 && full.startsWith(name);

function judgeScripts(judge: Judge, call: Call, scripts: readonly Field[]): void {
  if (scripts.length === 0) return;
  if (!scripts.every((script) => isKnown(script) && script.globAt < 0)) {
    return needs(judge, 'exec', 'The sed script is not known in advance and could run programs.');
  }
  const effects = readSedScript(scripts.map((script) => script.text).join('\n'));
  if (effects.runs) needs(judge, 'exec', 'The sed script runs programs with e.');
  if (effects.unclear) needs(judge, 'exec', 'The sed script could not be read to its end.');
  for (const path of effects.reads) judgePath(judge, plainField(path), 'read', call.scope);
  for (const path of effects.writes) judgePath(judge, plainField(path), 'write', call.scope);
}
