// `test` and `[` (R2b, R2c): their strings are text, their file operands are looked at, and `-v` evaluates.

import { judgeVariableName } from '../expansions.ts';
import type { Call, Judge } from '../judge.ts';
import { judgePath } from '../paths.ts';

export const FILE_TEST = /^-[abcdefghkprsuwxGLNOS]$/;
export const FILE_COMPARISON = /^-(?:ef|nt|ot)$/;

/** Judges a call of test. */
export function judgeTest(judge: Judge, call: Call): void {
  for (const [at, field] of call.args.entries()) {
    const next = call.args[at + 1];
    if (next === undefined) break;
    const binary = at > 0 && call.args.length > at + 2 && field.text === '-a';
    if (FILE_TEST.test(field.text) && next.text !== ']' && !binary) judgePath(judge, next, 'look', call.scope);
    else if (field.text === '-v' || field.text === '-R') judgeVariableName(judge, next.text);
    else if (FILE_COMPARISON.test(field.text)) {
      const before = call.args[at - 1];
      if (before !== undefined) judgePath(judge, before, 'look', call.scope);
      judgePath(judge, next, 'look', call.scope);
    } else if (field.text.includes('\u0000') && /\[.*(?:\$\(|`)/.test(next.text)) judgeVariableName(judge, next.text);
  }
}
