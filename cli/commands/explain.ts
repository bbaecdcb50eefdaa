// `odin explain`: how a command is judged and what each mode would do with it. With --facts or --stdin the world is a table's (a project
// at /project); else it is this one.

import {
  type Explained,
  explainCommand,
  factsHere,
  parseCase,
  parseFacts,
  tableFacts,
} from '../../orchestrator/permissions-explain.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { cleanLine, cleanText } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { settingsOf } from '../settings.ts';

export interface ExplainOptions {
  readonly json?: boolean;
  readonly facts?: string;
  readonly stdin?: boolean;
}

export async function explain(command: string | undefined, options: ExplainOptions): Promise<number> {
  if (options.stdin === true) {
    if (command !== undefined) throw new UserError('--stdin takes the commands from stdin: leave the argument out.');
    return await explainLines();
  }
  if (command === undefined) throw new UserError('give a command: odin explain "rm -rf build"');
  const explained = explainCommand(command, options.facts === undefined ? await here() : given(options.facts));
  process.stdout.write(options.json === true ? jsonLine(explained) : cleanText(asText(explained)));
  return EXIT.completed;
}

/** One object a line in, one a line out, each at once. A line that is none gets {error}, and the exit code says so. */
async function explainLines(): Promise<number> {
  let code: number = EXIT.completed;
  for await (const line of linesOf(process.stdin)) {
    if (line.trim() === '') continue;
    const parsed = parseCase(line);
    if (!parsed.ok) code = EXIT.usage;
    const answer = parsed.ok
      ? explainCommand(parsed.value.command, tableFacts(parsed.value.facts ?? {}))
      : { error: cleanLine(parsed.failure.message) };
    process.stdout.write(jsonLine(answer));
  }
  return code;
}

/** Lines end at a newline and nowhere else: readline also splits at U+2028, which JSON may hold. */
async function* linesOf(input: NodeJS.ReadableStream): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

async function here() {
  const place = placeHere();
  return await factsHere(place, findRoot(place.cwd), await settingsOf(place));
}

function given(text: string) {
  const facts = parseFacts(text);
  if (facts.ok) return tableFacts(facts.value);
  throw new UserError(`--facts: ${cleanLine(facts.failure.message)}. For example: '{"cwd": "/project/src"}'`);
}

function asText({ class: name, op, decisions, reasons, paths }: Explained): string {
  const lines = [
    `${name} (${op})`,
    ...reasons.map((reason) => `  because ${cleanLine(reason)}`),
    ...paths.map((path) => `  path ${cleanLine(path.path)}${path.outside ? ', outside' : ''}: ${cleanLine(path.why)}`),
    ...Object.entries(decisions).map(([mode, answer]) => `${mode} mode: ${answer}`),
  ];
  return `${lines.join('\n')}\n`;
}
