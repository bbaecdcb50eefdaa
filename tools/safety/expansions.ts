// Expansions that evaluate what they hold (R2c): they look like text and run code, so they always need approval.

import { type Judge, needs } from './judge.ts';
import type { ArithmeticExpression, ParameterExpansionPart, WordPart } from './parse.ts';
import { UNKNOWN } from './words.ts';

const evaluates = (judge: Judge, what: string): void => needs(judge, 'exec', `${what} evaluates what it holds.`, false);

const NUMBER = /^(?:0[xX][0-9a-fA-F]+|\d+)$/;

/** Judges `${…}`; the words inside of it are walk.ts's to visit. */
export function judgeParameter(judge: Judge, part: ParameterExpansionPart): void {
  const operation = part.operation;
  if (part.index !== undefined) return evaluates(judge, `The subscript in ${part.text}`);
  if (part.prefix === '!') return evaluates(judge, `The indirect expansion ${part.text}`);
  if (operation === undefined) return;
  if (operation.type === 'Transform' || operation.type === 'Names' || operation.type === 'Unknown') {
    evaluates(judge, `The expansion ${part.text}`);
  } else if (operation.type === 'Default' && operation.operator.endsWith('=')) {
    evaluates(judge, `The assigning expansion ${part.text}`);
  } else if (operation.type === 'Slice') {
    const numbers = [operation.offset, operation.length].filter((word) => word !== undefined);
    if (!numbers.every((word) => /^\s*-?\d+\s*$/.test(word.text))) evaluates(judge, `The arithmetic in ${part.text}`);
  }
}

/** Judges arithmetic: anything but numbers and operators is evaluated again, subscripts and substitutions included. */
export function judgeArithmetic(judge: Judge, expression: ArithmeticExpression | undefined, text: string): void {
  const blank = /^(?:\$?\(\(|\$\[)?\s*(?:\)\)|\])?$/.test(text);
  if (expression === undefined ? !blank : !isNumeric(expression)) evaluates(judge, `The arithmetic ${text}`);
}

function isNumeric(expression: ArithmeticExpression): boolean {
  switch (expression.type) {
    case 'ArithmeticWord':
      return expression.parts === undefined && NUMBER.test(expression.value.trim());
    case 'ArithmeticBinary':
      return isNumeric(expression.left) && isNumeric(expression.right);
    case 'ArithmeticUnary':
      return isNumeric(expression.operand);
    case 'ArithmeticTernary':
      return isNumeric(expression.test) && isNumeric(expression.consequent) && isNumeric(expression.alternate);
    case 'ArithmeticGroup':
      return isNumeric(expression.expression);
    default:
      return false;
  }
}

/** Judges a word that bash takes as the name of a variable: a subscript in it is evaluated, quoted or not. */
export function judgeVariableName(judge: Judge, text: string): void {
  if (text.includes('[') || text.includes(UNKNOWN)) evaluates(judge, `The subscript in ${text}`);
}

/** Judges an operand of a numeric comparison in `[[ ]]`, which is arithmetic. */
export function judgeNumericOperand(judge: Judge, text: string, parts: readonly WordPart[] | undefined): void {
  const counts = parts?.every((part) => part.type === 'SimpleExpansion' && /^\$[#?$]$/.test(part.text));
  if (!/^-?\d+$/.test(text) && counts !== true) evaluates(judge, `The arithmetic comparison with ${text}`);
}
