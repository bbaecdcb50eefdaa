// Custom subagents (SPEC O19): one Markdown file each, front matter and prompt, in the project's .odin/agents and the user's
// $ODIN_HOME/agents. A file can only narrow what its agent may do; from a folder that nobody accepted its text is not the user's word.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { instructionsText } from '../../llm/context/instructions-text.ts';
import { isMode, type Mode } from '../../shared/modes.ts';

export interface AgentFile {
  readonly name: string;
  readonly description: string;
  readonly mode: Mode | null;
  /** Null: all of the mode's. */
  readonly tools: readonly string[] | null;
  /** `provider/name`; only of a file that the user has made or accepted. */
  readonly model: string | null;
  /** Whether it goes to a worker; null: as the settings say. Only of a file that the user has made or accepted. */
  readonly where: 'local' | 'remote' | null;
  /** What the agent is told to be, marked with whose word it is. */
  readonly role: string;
  readonly isTrusted: boolean;
}

const MAX_FILES = 50;
const MAX_BYTES = 32_768;

/** The user's own go before the project's of the same name. What cannot be read is told and left out. */
export function readAgentFiles(
  { root, home, trusted }: { readonly root: string; readonly home: string; readonly trusted: boolean },
  tell: (line: string) => void,
): readonly AgentFile[] {
  const files = new Map<string, AgentFile>();
  const places = [
    { folder: join(home, 'agents'), isTrusted: true },
    { folder: join(root, '.odin', 'agents'), isTrusted: trusted },
  ];
  for (const { folder, isTrusted } of places) {
    for (const name of namesIn(folder)) {
      const made = readAgentFile(join(folder, `${name}.md`), name, isTrusted);
      if (typeof made === 'string') tell(made);
      else if (!files.has(name)) files.set(name, made);
    }
  }
  return [...files.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_FILES);
}

function namesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder).flatMap((name) => (/^[\w-]{1,60}\.md$/.test(name) ? [name.slice(0, -3)] : []));
  } catch {
    return [];
  }
}

function readAgentFile(path: string, name: string, isTrusted: boolean): AgentFile | string {
  try {
    const stat = statSync(path);
    // In a repository it may be a link to what has no end.
    if (!stat.isFile()) return `${path} is left out: it is no file.`;
    const { size } = stat;
    if (size > MAX_BYTES) return `${path} is left out: an agent's file may have ${MAX_BYTES} bytes, it has ${size}.`;
    return parseAgentFile(readFileSync(path, 'utf8'), { path, name, isTrusted });
  } catch (error) {
    return `${path} is left out: it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`;
  }
}

/** The agent, or a line that says what is wrong. */
function parseAgentFile(
  text: string,
  { path, name, isTrusted }: { readonly path: string; readonly name: string; readonly isTrusted: boolean },
): AgentFile | string {
  const parts = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)([\s\S]*)$/.exec(text);
  const wrong = (what: string): string => `${path} is left out: ${what}`;
  if (!parts) return wrong('it must begin with front matter between two lines of ---, with a description.');
  const fields = new Map<string, string>();
  for (const line of (parts[1] ?? '').split(/\r?\n/)) {
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    const field = /^(\w+)\s*:\s*(.*)$/.exec(line);
    const key = field?.[1] ?? '';
    if (!FIELDS.has(key))
      return wrong(`${JSON.stringify(line.slice(0, 60))} is not one of: ${[...FIELDS].join(', ')}.`);
    fields.set(key, (field?.[2] ?? '').trim().replace(/^(["'])(.*)\1$/, '$2'));
  }
  const description = fields.get('description') ?? '';
  if (description === '') return wrong('its front matter has no description: say when to use it.');
  const mode = fields.get('mode') ?? '';
  if (mode !== '' && !isMode(mode)) return wrong(`there is no mode ${JSON.stringify(mode)}; it is ask, plan or edit.`);
  const where = fields.get('where') ?? '';
  if (where !== '' && where !== 'local' && where !== 'remote')
    return wrong(`it works where: local or remote, not ${JSON.stringify(where)}.`);
  const tools = (fields.get('tools') ?? '')
    .replace(/^\[|\]$/g, '')
    .split(',')
    .map((tool) => tool.trim());
  const named = tools.filter((tool) => tool !== '');
  const body = (parts[2] ?? '').trim();
  const given = [{ name: `agent ${name}`, text: body }];
  return {
    name,
    description: description.slice(0, 300),
    mode: isMode(mode) ? mode : null,
    tools: named.length === 0 ? null : named,
    model: isTrusted ? fields.get('model') || null : null,
    where: isTrusted && where !== '' ? where : null,
    role:
      body === ''
        ? ''
        : instructionsText({ user: isTrusted ? given : [], project: isTrusted ? [] : given, trusted: false }),
    isTrusted,
  };
}

const FIELDS: ReadonlySet<string> = new Set(['description', 'mode', 'tools', 'model', 'where']);
