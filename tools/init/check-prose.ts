// Holds a model's text against the facts, line by line: commands, files and addresses that the project does not have do not get into a
// file that later counts as instructions. Pure.

import type { Facts } from './facts.ts';

const PROGRAMS =
  /^(?:sudo |env |\$ )*(?:npm|npx|pnpm|pnpx|yarn|bun|bunx|deno|node|tsx?|tsc|python3?|pip3?|pipx|pipenv|uvx?|poetry|pdm|hatch|tox|nox|pytest|cargo|rustup|go|make|just|task|mvn|gradle|bundle|rake|rails|gem|composer|php|dotnet|swift|mix|flutter|dart|cmake|ctest|ninja|meson|bazel|docker|docker-compose|podman|kubectl|helm|terraform|sh|bash|zsh|source|curl|wget|rm|git|ssh|scp|apt|apt-get|brew|chmod|export|eval|nc) +\S|^\.\.?\/[\w./-]+(?: |$)/;
const EXTRA = /^[\w ./:=@,-]*$/;
const ADDRESS = /\bhttps?:\/\/[^\s)>\]"'`]+/gi;

/** A command of the facts, or one with harmless words behind it, as in `npm test -- test/tools`. */
export function isKnownCommand(command: string, { commands, ci }: Facts): boolean {
  const wanted = normal(command);
  const known = [...commands.map((one) => one.command), ...ci.flatMap((one) => one.commands)];
  return known.some((one) => wanted === one || (wanted.startsWith(`${one} `) && EXTRA.test(wanted.slice(one.length))));
}

const normal = (command: string): string => command.trim().replace(/^\$ /, '').replaceAll(/\s+/g, ' ');

/** The text without lines that name what is not there. */
export function checkLines(text: string, facts: Facts): { readonly text: string; readonly dropped: number } {
  let dropped = 0;
  let inFence = false;
  const kept: string[] = [];
  for (const line of text.split('\n')) {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) inFence = !inFence;
    if (!isFence && !isSound(line, inFence, facts)) dropped++;
    else kept.push(demoted(line, inFence || isFence));
  }
  if (inFence) kept.push('```');
  return { text: withoutEmptyFences(kept.join('\n')).trim(), dropped };
}

function isSound(line: string, inFence: boolean, facts: Facts): boolean {
  if (/odin:(?:begin|end)|<!--|-->|<\/?(?:script|iframe|user-instructions|project-instructions)\b/i.test(line))
    return false;
  const spans = inFence ? [line] : [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  const commands = spans.filter((span) => PROGRAMS.test(span.trim()) && !isPathThere(span.trim(), facts));
  if (!commands.every((command) => isKnownCommand(command, facts))) return false;
  if (!inFence && !spans.every((span) => !isPath(span) || isPathThere(span, facts))) return false;
  return [...line.matchAll(ADDRESS)].every(([address]) => isAddressThere(address, facts));
}

/** Something like `src/a.ts` or `src/`: with a folder, and an ending or a slash at the end. */
const isPath = (span: string): boolean => /^(?:\.\/)?[\w@.-]+(?:\/[\w@.-]+)*(?:\/[\w@-]+\.\w{1,5}|\/)$/.test(span);

function isPathThere(span: string, { paths }: Facts): boolean {
  const path = span.replace(/^\.\//, '').replace(/:\d+(?:-\d+)?$/, '');
  if (paths.has(path)) return true;
  const folder = path.endsWith('/') ? path : `${path}/`;
  for (const one of paths)
    if (one.startsWith(folder) || one.endsWith(`/${path}`) || one.includes(`/${folder}`)) return true;
  return false;
}

function isAddressThere(address: string, { texts, description }: Facts): boolean {
  const plain = address.replace(/[.,;:!?]+$/, '');
  return description.includes(plain) || [...texts.values()].some((text) => text.includes(plain));
}

/** Headings of its own would end the part. */
const demoted = (line: string, inFence: boolean): string => (inFence ? line : line.replace(/^#{1,2}(?=\s)/, '###'));

const withoutEmptyFences = (text: string): string => text.replaceAll(/^\s*```[^\n]*\n\s*```\s*$/gm, '');
