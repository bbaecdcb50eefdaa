// Visits words for what runs or evaluates inside of them (R1, R2c): substitutions are judged as scripts, expansions by
// expansions.ts. What a word means where it stands is not decided here.

import { judgeArithmetic, judgeParameter, judgeVariableName } from './expansions.ts';
import { forbid, inPart } from './judge.ts';
import type { ArithmeticExpression, Assignment, ParameterOperation, Script, Word, WordPart } from './parse.ts';
import { isInside, judgePath } from './paths.ts';
import { copyScope, type Scope, wordFacts } from './scope.ts';
import { inFork, type Walk } from './walk-state.ts';
import { fieldsOf } from './words.ts';

/** Judges what is inside of a word. `data`: the word is itself data for the command, as the text of a here-string is. */
export function visitWord(walk: Walk, word: Word, scope: Scope, data = false): void {
  if (word.text.startsWith('~')) walk.literal = false;
  if (word.parts !== undefined) visitParts(walk, word.parts, scope, data);
}

export function visitParts(walk: Walk, parts: readonly WordPart[], scope: Scope, data = false): void {
  for (const part of parts) visitPart(walk, part, scope, data);
}

function visitPart(walk: Walk, part: WordPart, scope: Scope, data: boolean): void {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return;
    case 'DoubleQuoted':
    case 'LocaleString':
      return visitParts(walk, part.parts, scope, data);
    case 'ParameterExpansion':
      walk.literal = false;
      judgeParameter(walk, part);
      if (part.parameter === 'HOME' && part.operation !== undefined) scope.home = undefined;
      if (part.index !== undefined) visitWord(walk, part.index, scope, data);
      for (const word of wordsOf(part.operation)) visitWord(walk, word, scope, data);
      return;
    case 'CommandExpansion':
      return visitScript(walk, part.script, scope, data);
    case 'ProcessSubstitution':
      return visitScript(walk, part.script, scope, true);
    case 'ArithmeticExpansion':
      walk.literal = false;
      judgeArithmetic(walk, part.expression, part.text);
      return visitArithmetic(walk, part.expression, scope);
    default:
      walk.literal = false;
      if ('parts' in part && part.parts !== undefined) visitParts(walk, part.parts, scope, data);
  }
}

function wordsOf(operation: ParameterOperation | undefined): readonly Word[] {
  switch (operation?.type) {
    case 'Default':
    case 'Remove':
    case 'Transform':
      return [operation.operand];
    case 'Replace':
      return [operation.pattern, operation.replacement];
    case 'Slice':
      return operation.length === undefined ? [operation.offset] : [operation.offset, operation.length];
    case 'CaseModification':
      return operation.operand === undefined ? [] : [operation.operand];
    default:
      return [];
  }
}

/** Judges a substitution. What flows in it reaches the command itself only when it is data for it. */
function visitScript(walk: Walk, script: Script | undefined, scope: Scope, data: boolean): void {
  walk.literal = false;
  if (script === undefined) return forbid(walk, 'A substitution could not be read.');
  let flow = 0;
  inPart(walk, () => {
    flow = inFork(walk, () => walk.run(script, copyScope(scope)));
  });
  if (data) walk.part.flow |= flow;
  else walk.part.passed |= flow;
}

/** Visits the words of arithmetic; that they are there at all is judgeArithmetic's to judge. */
export function visitArithmetic(walk: Walk, expression: ArithmeticExpression | undefined, scope: Scope): void {
  switch (expression?.type) {
    case 'ArithmeticBinary':
      visitArithmetic(walk, expression.left, scope);
      return visitArithmetic(walk, expression.right, scope);
    case 'ArithmeticUnary':
      return visitArithmetic(walk, expression.operand, scope);
    case 'ArithmeticTernary':
      visitArithmetic(walk, expression.test, scope);
      visitArithmetic(walk, expression.consequent, scope);
      return visitArithmetic(walk, expression.alternate, scope);
    case 'ArithmeticGroup':
      return visitArithmetic(walk, expression.expression, scope);
    case 'ArithmeticWord':
      if (/HOME|PWD/.test(expression.value)) forgetFolders(scope);
      return visitParts(walk, expression.parts ?? [], scope);
    case 'ArithmeticCommandExpansion':
      return visitScript(walk, expression.script, scope, false);
    default:
      return;
  }
}

function forgetFolders(scope: Scope): void {
  scope.home = undefined;
  scope.pwdKnown = false;
}

/** Visits an assignment: its subscript is evaluated, its value is a word or several. */
export function visitAssignment(walk: Walk, assignment: Assignment, scope: Scope): void {
  if (assignment.index !== undefined) {
    judgeVariableName(walk, `${assignment.name}[${assignment.index.text}]`);
    visitWord(walk, assignment.index, scope);
  }
  if (assignment.value.type === 'Word') return visitWord(walk, assignment.value, scope);
  for (const element of assignment.value.elements) {
    if (/^\[[\s\S]*\]\+?=/.test(element.text)) judgeVariableName(walk, element.text);
    visitWord(walk, element, scope);
    for (const field of fieldsOf(element, wordFacts(scope))) {
      if (field.globAt >= 0 && !isInside(walk, field, scope)) judgePath(walk, field, 'look', scope);
    }
  }
}
