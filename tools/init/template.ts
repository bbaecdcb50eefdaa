// The four parts from the facts alone: what stands in ODIN.md when no model is there, and the frame of what a model writes. Pure.

import { cleanLine } from '../../shared/clean-text.ts';
import { type Command, type Component, type Facts, PURPOSES, type Purpose } from './facts.ts';
import type { LanguageCount } from './languages.ts';
import type { Sections } from './sections.ts';

const MAX_NOTE = 90;
const MAX_OF_PURPOSE = 5;
const MAX_MORE = 12;
const MAX_HELD = 7;

const LABEL: Readonly<Record<Purpose, string>> = {
  install: 'Install',
  build: 'Build',
  run: 'Run',
  test: 'Test',
  check: 'Check',
  other: 'Other',
};

/** `notes`: what each command is for, in somebody's own words; by command. */
export function templateSections(facts: Facts, notes: ReadonlyMap<string, string> = new Map()): Sections {
  return {
    what: whatItIs(facts),
    architecture: architecture(facts),
    components: facts.components.map(componentLine).join('\n') || 'One part: everything is in the root folder.',
    commands: commandsText(facts, notes),
  };
}

function whatItIs({ name, description, languages, files, manifests }: Facts): string {
  const kinds = [...new Set(manifests.filter(({ file }) => !file.includes('/')).map(({ kind }) => kind))];
  const lines = [
    description === '' ? `${name}: ${filesText(files)}.` : `${name}: ${sentence(description)}`,
    languages.length === 0
      ? ''
      : `Written in ${shares(languages, 5)}.${kinds.length === 0 ? '' : ` Built with ${kinds.join(', ')}.`}`,
  ];
  return lines.filter((line) => line !== '').join('\n\n');
}

function architecture(facts: Facts): string {
  const entries = [...new Set(facts.manifests.flatMap(({ entries: own }) => own))];
  const uses = [...new Set(facts.manifests.flatMap(({ uses: own }) => own))];
  const packages = facts.manifests.filter(({ file }) => file.includes('/'));
  const lines = [
    packages.length === 0
      ? ''
      : `- Packages: ${list(
          packages.map(({ file, name }) => (name === '' ? code(file) : `${code(file)} (${name})`)),
          20,
        )}`,
    entries.length === 0 ? '' : `- It starts in ${list(entries.map(code), 10)}`,
    uses.length === 0 ? '' : `- Uses ${list(uses, 16)}`,
    facts.deployment.length === 0 ? '' : `- Deployed with ${list(facts.deployment.map(code), 8)}`,
    facts.ci.length === 0
      ? ''
      : `- CI: ${list(
          facts.ci.map(({ file }) => code(file)),
          6,
        )}`,
    facts.documents.length === 0 ? '' : `- Read also: ${list(facts.documents.map(code), 12)}`,
  ];
  return lines.filter((line) => line !== '').join('\n') || 'Nothing but the files says how it is built.';
}

/** One part of the project, as a list item. */
export function componentLine({ folder, files, languages, manifest, about, aboutFrom, holds }: Component): string {
  const [first] = languages;
  const count = filesText(files);
  const written =
    first?.files === files ? `${count} of ${first.name}` : first ? `${count}: ${shares(languages, 3)}` : count;
  const kind = manifest ? `${manifest.kind}, ` : '';
  const from = aboutFrom === '' ? '' : `${code(aboutFrom)}: `;
  const said = about === '' ? `holds ${list(holds.map(code), MAX_HELD)}` : `${from}${sentence(about)}`;
  return `- ${code(`${folder}/`)} (${kind}${written}): ${said}`;
}

export function commandsText({ commands, ci }: Facts, notes: ReadonlyMap<string, string>): string {
  const folders = [...new Set(commands.map(({ folder }) => folder))];
  const parts = folders.map((folder) => {
    const text = folderCommands(
      commands.filter((command) => command.folder === folder),
      notes,
    );
    return folder === '' ? text : `In ${code(`${folder}/`)}:\n\n${text}`;
  });
  const inCi = ci
    .filter((one) => one.commands.length > 0)
    .map((one) => `- CI (${code(one.file)}): ${one.commands.map(code).join(', ')}`);
  if (inCi.length > 0) parts.push(inCi.join('\n'));
  return parts.join('\n\n') || 'No manifest, Makefile or CI file names a command.';
}

/** The plainest of each purpose with what they do, the others by name alone. */
function folderCommands(commands: readonly Command[], notes: ReadonlyMap<string, string>): string {
  const isPlain = ({ command }: Command): boolean => !/[:_-]/.test(command.slice(command.lastIndexOf(' ') + 1));
  const sorted = PURPOSES.map((purpose) =>
    commands
      .filter((command) => command.purpose === purpose)
      .toSorted(
        (a, b) =>
          Number(notes.has(b.command)) - Number(notes.has(a.command)) || Number(isPlain(b)) - Number(isPlain(a)),
      ),
  );
  const lines = sorted.flatMap((some) => some.slice(0, MAX_OF_PURPOSE).map((command) => commandLine(command, notes)));
  const more = sorted.flatMap((some) => some.slice(MAX_OF_PURPOSE).map(({ command }) => code(command)));
  return [...lines, ...(more.length === 0 ? [] : [`- More: ${list(more, MAX_MORE)}`])].join('\n');
}

function commandLine({ purpose, command, note }: Command, notes: ReadonlyMap<string, string>): string {
  const said = notes.get(command);
  const own = note === '' ? '' : ` (${code(cut(note))})`;
  return `- ${LABEL[purpose]}: ${code(command)}${said === undefined ? own : `: ${said}`}`;
}

/** Inline code that its own text cannot end. */
function code(raw: string): string {
  const text = cleanLine(raw);
  const ticks = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(ticks + 1);
  return ticks === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}

const shares = (languages: readonly LanguageCount[], most: number): string =>
  languages
    .slice(0, most)
    .map(({ name, files }) => `${name} (${files})`)
    .join(', ');

const list = (items: readonly string[], most: number): string =>
  items.length <= most ? items.join(', ') : `${items.slice(0, most).join(', ')} and ${items.length - most} more`;

const cut = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_NOTE ? `${line.slice(0, MAX_NOTE - 1)}…` : line;
};

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

const filesText = (files: number): string => `${files} ${files === 1 ? 'file' : 'files'}`;
