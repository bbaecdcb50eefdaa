// `[[ … ]]` (R2b, R2c): strings are text, file operands are looked at, numeric comparisons are arithmetic.

import { judgeNumericOperand, judgeVariableName } from './expansions.ts';
import type { TestExpression, Word } from './parse.ts';
import { judgePath } from './paths.ts';
import { FILE_COMPARISON, FILE_TEST } from './programs/test-command.ts';
import { type Scope, wordFacts } from './scope.ts';
import { visitWord } from './visit.ts';
import type { Walk } from './walk-state.ts';
import { fieldOf } from './words.ts';

const NUMERIC = /^-(?:eq|ne|lt|le|gt|ge)$/;

/** Judges the expression of a `[[ ]]`. */
export function judgeCondition(walk: Walk, expression: TestExpression, scope: Scope): void {
  switch (expression.type) {
    case 'TestUnary':
      visitWord(walk, expression.operand, scope);
      if (FILE_TEST.test(expression.operator)) look(walk, expression.operand, scope);
      else if (expression.operator === '-v' || expression.operator === '-R')
        judgeVariableName(walk, expression.operand.value);
      return;
    case 'TestBinary':
      for (const word of [expression.left, expression.right]) {
        visitWord(walk, word, scope);
        if (NUMERIC.test(expression.operator)) judgeNumericOperand(walk, word.value, word.parts);
        else if (FILE_COMPARISON.test(expression.operator)) look(walk, word, scope);
      }
      return;
    case 'TestLogical':
      for (const operand of expression.operands) judgeCondition(walk, operand, scope);
      return;
    case 'TestNot':
      return judgeCondition(walk, expression.operand, scope);
    case 'TestGroup':
      return judgeCondition(walk, expression.expression, scope);
  }
}

const look = (walk: Walk, word: Word, scope: Scope): void =>
  judgePath(walk, fieldOf(word, wordFacts(scope)), 'look', scope);
