// The only file that knows the parser (unbash, pinned exactly). It turns text into a tree, refuses what has an error at any
// depth, and reports kinds of node that the judge was not written for, so that a new version of the parser cannot slip
// syntax past it.

import { type Command, forEachChild, parse, type Script, type SyntaxNode } from 'unbash';

export type * from 'unbash';

export interface Parsed {
  readonly script: Script;
  /** Every simple command of the tree; the judge must come by each of them. */
  readonly commands: ReadonlySet<Command>;
  readonly unknownKinds: readonly string[];
}

export type ParseResult = ({ readonly ok: true } & Parsed) | { readonly ok: false; readonly message: string };

const KNOWN_KINDS: ReadonlySet<string> = new Set<SyntaxNode['type']>([
  ...([
    'Script',
    'Statement',
    'CompoundList',
    'AndOr',
    'Pipeline',
    'Time',
    'Negation',
    'Command',
    'Redirected',
  ] as const),
  ...(['If', 'Elif', 'For', 'ArithmeticFor', 'Select', 'While', 'Subshell', 'BraceGroup', 'Case', 'CaseItem'] as const),
  ...(['TestCommand', 'ArithmeticCommand', 'Function', 'Coproc', 'Word', 'Literal', 'Glob', 'SingleQuoted'] as const),
  ...(['DoubleQuoted', 'AnsiCQuoted', 'LocaleString', 'SimpleExpansion', 'ParameterExpansion'] as const),
  ...(['CommandExpansion', 'ArithmeticExpansion', 'ProcessSubstitution', 'ExtendedGlob', 'BraceExpansion'] as const),
  ...(['Assignment', 'ArrayValue', 'Redirect', 'HereString', 'HereDoc', 'FileDescriptor'] as const),
  ...(['FileDescriptorVariable', 'HereDocDelimiter', 'HereDocBody', 'Default', 'Remove', 'Replace', 'Slice'] as const),
  ...(['CaseModification', 'Transform', 'Names', 'ArithmeticBinary', 'ArithmeticUnary', 'ArithmeticTernary'] as const),
  ...(['ArithmeticGroup', 'ArithmeticWord', 'ArithmeticCommandExpansion', 'TestUnary', 'TestBinary'] as const),
  ...(['TestLogical', 'TestNot', 'TestGroup'] as const),
]);

// bash joins such lines before it reads the expansion; the parser does not in all places.
const CONTINUED_EXPANSION = /[$~<>({[!](?:\\\n)/;

/** Parses shell text. Never throws: what the parser cannot take is a message. */
export function parseShell(text: string): ParseResult {
  if (CONTINUED_EXPANSION.test(text))
    return { ok: false, message: 'a line is continued in the middle of an expansion' };
  // bash takes `\\x{2f` in $'…' for a slash (an extension without a page); the parser takes it for text.
  if (text.includes("$'") && text.includes('\\x{'))
    return { ok: false, message: 'a character is written as \\x{…}, which is not read the same everywhere' };
  try {
    return readTree(parse(text));
  } catch (error) {
    return { ok: false, message: error instanceof RangeError ? 'nested too deeply' : String(error) };
  }
}

function readTree(script: Script): ParseResult {
  const commands = new Set<Command>();
  const unknownKinds: string[] = [];
  let problem: string | undefined;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') commands.add(node);
    else if (!KNOWN_KINDS.has(node.type)) unknownKinds.push(node.type);
    else if (node.type === 'Script')
      problem ??= (node as { errors?: readonly { message: string }[] }).errors?.[0]?.message;
    // The parser takes `a=(…)b` for plain text; bash runs the substitutions in it.
    else if (node.type === 'Assignment' && node.value?.type === 'Word' && node.value.text.startsWith('('))
      problem ??= 'text follows the ) of an array';
    else if (node.type === 'HereDoc' && node.closing === undefined) problem ??= 'a here-document has no end';
    forEachChild(node, visit);
  };
  visit(script);
  return problem === undefined ? { ok: true, script, commands, unknownKinds } : { ok: false, message: problem };
}
