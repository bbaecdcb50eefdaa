// Walks the tree of a script and judges everything in it (R1): lists, pipes, loops, branches, functions, with the shell's
// state (R3) as it would be there. Each function returns what can flow out of its node (FLOW).

import { judgeArithmetic } from './expansions.ts';
import { forbid, inPart, needs, whyLeak } from './judge.ts';
import type {
  AndOr,
  ArithmeticFor,
  Case,
  Command,
  CompoundList,
  If,
  Pipeline,
  Redirected,
  Script,
  Function as ShellFunction,
  Statement,
  SyntaxNode,
  While,
  Word,
} from './parse.ts';
import { isAscii } from './precheck.ts';
import { judgeRedirects } from './redirects.ts';
import { copyScope, joinFolders, joinScopes, type Scope, wordFacts } from './scope.ts';
import { judgeGlob, judgeSimple, plainOutput, visitRedirects } from './simple.ts';
import { judgeCondition } from './test-expression.ts';
import { assign } from './variables.ts';
import { visitArithmetic, visitWord } from './visit.ts';
import { inFork, type Walk } from './walk-state.ts';
import { fieldsOf } from './words.ts';

/** Judges the statements of a script in order. */
export function walkScript(walk: Walk, script: Script, scope: Scope): number {
  return walkStatements(walk, script.commands, scope);
}

const walkList = (walk: Walk, list: CompoundList, scope: Scope): number => walkStatements(walk, list.commands, scope);

function walkStatements(walk: Walk, statements: readonly Statement[], scope: Scope): number {
  let flow = 0;
  for (const statement of statements) {
    if (statement.background !== true) flow |= walkNode(walk, statement.command, scope);
    else {
      apart(walk, () => needs(walk, 'exec', 'It leaves a process behind (&).', false));
      flow |= inFork(walk, () => walkNode(walk, statement.command, copyScope(scope)));
    }
  }
  return flow;
}

/** Notes something that belongs to no simple command. */
const apart = (walk: Walk, body: () => void): void => void inPart(walk, body);

function walkNode(walk: Walk, node: SyntaxNode, scope: Scope): number {
  switch (node.type) {
    case 'Command':
      return judgeSimple(walk, node, scope, callFunction);
    case 'Pipeline':
      return walkPipeline(walk, node, scope);
    case 'AndOr':
      return walkAndOr(walk, node, scope);
    case 'Redirected':
      return walkRedirected(walk, node, scope);
    case 'CompoundList':
      return walkList(walk, node, scope);
    case 'BraceGroup':
      return walkList(walk, node.body, scope);
    case 'Subshell':
      return inFork(walk, () => walkList(walk, node.body, copyScope(scope)));
    case 'If':
      return walkIf(walk, node, scope);
    case 'While':
      return walkLoop(walk, scope, () => walkWhile(walk, node, scope));
    case 'For':
    case 'Select':
      return walkFor(walk, node.name, node.wordlist ?? [], node.body, scope);
    case 'ArithmeticFor':
      return walkArithmeticFor(walk, node, scope);
    case 'Case':
      return walkCase(walk, node, scope);
    case 'Function':
      return defineFunction(walk, node, scope);
    case 'TestCommand':
      apart(walk, () => judgeCondition(walk, node.expression, scope));
      return 0;
    case 'ArithmeticCommand':
      apart(walk, () => {
        judgeArithmetic(walk, node.expression, node.body);
        visitArithmetic(walk, node.expression, scope);
      });
      return 0;
    case 'Coproc':
      apart(walk, () => needs(walk, 'exec', 'It leaves a process behind (coproc).', false));
      return inFork(walk, () => walkNode(walk, node.body, copyScope(scope)));
    default:
      apart(walk, () => forbid(walk, `The syntax ${node.type} could not be judged.`));
      return 0;
  }
}

function walkPipeline(walk: Walk, node: Pipeline, scope: Scope): number {
  if (node.commands.length < 2) return node.commands[0] === undefined ? 0 : walkNode(walk, node.commands[0], scope);
  let before = 0;
  let selfCalls = 0;
  for (const [at, command] of node.commands.entries()) {
    const previous = node.commands[at - 1];
    const input = previous?.type === 'Command' ? plainOutput(previous, scope) : undefined;
    const flow = inFork(walk, () =>
      command.type === 'Command'
        ? judgeSimple(walk, command, copyScope(scope), callFunction, input)
        : walkNode(walk, command, copyScope(scope)),
    );
    const leak = whyLeak(before, flow);
    if (leak !== undefined) apart(walk, () => forbid(walk, leak));
    if (command.type === 'Command' && /\$\{?0\}?|\$\{?BASH_SOURCE/.test(command.name?.text ?? '')) selfCalls++;
    before |= flow;
  }
  if (selfCalls > 1) apart(walk, () => forbid(walk, 'A script that starts itself twice is a fork bomb.'));
  return before;
}

/** `a && b || c`: whether b and c run is not known, so the folder may be either; a plain cd is taken to succeed (R3). */
function walkAndOr(walk: Walk, node: AndOr, scope: Scope): number {
  let flow = 0;
  let before = scope.cwds;
  let certain = true;
  for (const [at, command] of node.commands.entries()) {
    const operator = at === 0 ? undefined : node.operators[at - 1];
    const reached = scope.cwds;
    if (operator === '||') scope.cwds = joinFolders(before, reached);
    const entered = copyScope(scope);
    flow |= walkNode(walk, command, scope);
    if (operator === '||') {
      if (ends(command)) scope.cwds = reached;
      else scope.cwds = joinFolders(reached, scope.cwds);
    } else if (operator === '&&' && !certain && scope.cwds !== entered.cwds) {
      scope.cwds = joinFolders(entered.cwds, scope.cwds);
    }
    if (scope.functions !== entered.functions && at > 0) joinScopes(scope, entered, scope);
    if (operator !== '||') before = reached;
    certain &&= succeeds(command);
  }
  return flow;
}

const lastCommand = (node: SyntaxNode): Command | undefined => {
  if (node.type === 'Command') return node;
  const last = node.type === 'BraceGroup' ? node.body.commands.at(-1) : undefined;
  return last === undefined || last.background === true ? undefined : lastCommand(last.command);
};

const ends = (node: SyntaxNode): boolean => /^(?:exit|return)$/.test(lastCommand(node)?.name?.value ?? '');
const succeeds = (node: SyntaxNode): boolean =>
  node.type === 'Command' && /^(?:cd|pushd|:|true|echo|printf|pwd|set)$/.test(node.name?.value ?? '');

function walkRedirected(walk: Walk, node: Redirected, scope: Scope): number {
  const part = inPart(walk, () => {
    visitRedirects(walk, node.redirects, scope);
    judgeRedirects(walk, node.redirects, scope);
  });
  const body = walkNode(walk, node.command, scope);
  const leak = whyLeak(part.flow, body) ?? whyLeak(body, part.flow);
  if (leak !== undefined) apart(walk, () => forbid(walk, leak));
  return part.flow | part.passed | body;
}

function walkIf(walk: Walk, node: If, scope: Scope): number {
  let flow = walkList(walk, node.clause, scope);
  const ways: Scope[] = [];
  const way = (list: CompoundList): void => {
    const branch = copyScope(scope);
    flow |= walkList(walk, list, branch);
    ways.push(branch);
  };
  way(node.then);
  for (const elif of node.elif) {
    flow |= walkList(walk, elif.clause, scope);
    way(elif.then);
  }
  if (node.else !== undefined) way(node.else);
  else ways.push(copyScope(scope));
  joinAll(scope, ways);
  return flow;
}

function joinAll(scope: Scope, ways: readonly Scope[]): void {
  const [first, ...others] = ways;
  if (first === undefined) return;
  Object.assign(scope, first);
  for (const other of others) joinScopes(scope, copyScope(scope), other);
}

/** A body that runs any number of times: when it moves the shell, where it ends is not known. */
function walkLoop(walk: Walk, scope: Scope, body: () => number): number {
  const before = copyScope(scope);
  let flow = body();
  if (scope.cwds !== before.cwds || scope.home !== before.home || scope.links !== before.links) {
    scope.cwds = scope.cwds === before.cwds ? scope.cwds : undefined;
    flow |= body();
  }
  joinScopes(scope, before, copyScope(scope));
  return flow;
}

function walkWhile(walk: Walk, node: While, scope: Scope): number {
  return walkList(walk, node.clause, scope) | walkList(walk, node.body, scope);
}

function walkFor(walk: Walk, name: Word, words: readonly Word[], body: CompoundList, scope: Scope): number {
  apart(walk, () => {
    for (const word of words) {
      visitWord(walk, word, scope);
      for (const field of fieldsOf(word, wordFacts(scope))) judgeGlob(walk, field, scope);
    }
    assign(walk, name.value, scope, 'plain');
  });
  return walkLoop(walk, scope, () => walkList(walk, body, scope));
}

function walkArithmeticFor(walk: Walk, node: ArithmeticFor, scope: Scope): number {
  apart(walk, () => {
    for (const expression of [node.initialize, node.test, node.update]) {
      if (expression === undefined) continue;
      judgeArithmetic(walk, expression, 'of the for loop');
      visitArithmetic(walk, expression, scope);
    }
  });
  return walkLoop(walk, scope, () => walkList(walk, node.body, scope));
}

function walkCase(walk: Walk, node: Case, scope: Scope): number {
  apart(walk, () => {
    for (const word of [node.word, ...node.items.flatMap((item) => item.pattern)]) visitWord(walk, word, scope);
  });
  let flow = 0;
  const ways = [copyScope(scope)];
  for (const item of node.items) {
    // With ;& and ;;& an item can follow another, so each starts from all that was possible before it.
    const branch = copyScope(scope);
    for (const way of ways) joinScopes(branch, copyScope(branch), way);
    flow |= walkList(walk, item.body, branch);
    ways.push(branch);
  }
  joinAll(scope, ways);
  return flow;
}

/** A function's body is judged where it is defined and again, with the state of then, at each call. */
function defineFunction(walk: Walk, node: ShellFunction, scope: Scope): number {
  const name = node.name.value;
  if (!isAscii(name)) apart(walk, () => forbid(walk, `The function name ${JSON.stringify(name)} is not plain ASCII.`));
  scope.functions = new Map(scope.functions).set(name, node);
  return enter(walk, node, copyScope(scope));
}

function callFunction(walk: Walk, name: string, body: ShellFunction | 'maybe', scope: Scope): number {
  if (body === 'maybe') {
    scope.cwds = undefined;
    return 0;
  }
  const running = walk.running.find((call) => call.body === body);
  if (running === undefined) return enter(walk, body, scope);
  if (walk.forks > running.forks) forbid(walk, `The function ${name} starts itself over and over: a fork bomb.`);
  return 0;
}

function enter(walk: Walk, node: ShellFunction, scope: Scope): number {
  walk.running.push({ body: node, forks: walk.forks });
  let flow = 0;
  inPart(walk, () => {
    flow = walkNode(walk, node.body, scope);
  });
  walk.running.pop();
  return flow;
}
