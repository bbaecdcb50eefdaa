// How much an older tool result has to do with the task at hand (SPEC E15): it shares rare words with what the user asked for, with
// the open todos and with the files in hand; it tells of an error; it is recent; it is not large. Pure arithmetic, no model.

import type { ToolCallPart, ToolResultPart } from '../../shared/messages.ts';

/** What the agent is at. */
export interface Task {
  /** The user's words: the current message, and earlier ones behind it. */
  readonly words: string;
  /** The todos that are not completed. */
  readonly todos: string;
  /** Paths touched lately, from the project's root. */
  readonly files: readonly string[];
}

export interface Candidate {
  readonly call: ToolCallPart | undefined;
  readonly result: ToolResultPart;
  /** Its place among all messages: 0 the oldest, 1 the newest. */
  readonly place: number;
}

/** A result is looked at up to here. */
const READ_CHARS = 20_000;

/** One score for each candidate; higher is more relevant. Only their order means anything. */
export function relevances(candidates: readonly Candidate[], task: Task): readonly number[] {
  const wanted = wordsOf(`${task.words}\n${task.todos}`);
  const found = candidates.map(({ call, result }) => {
    const all = wordsOf(`${call?.rawArgs ?? ''}\n${result.text.slice(0, READ_CHARS)}`);
    return new Set([...wanted].filter((word) => all.has(word)));
  });
  const weight = rarityOf(found);
  const total = [...wanted].reduce((sum, word) => sum + (weight.get(word) ?? 0), 0);
  return candidates.map((candidate, at) => {
    const shared = [...(found[at] ?? [])].reduce((sum, word) => sum + (weight.get(word) ?? 0), 0);
    return (
      2 * (total === 0 ? 0 : shared / total) +
      (namesOneOf(candidate, task.files) ? 1 : 0) +
      (candidate.result.isError ? 0.3 : 0) +
      0.5 * candidate.place -
      0.1 * Math.log10(1 + candidate.result.text.length)
    );
  });
}

/** A word that is in every result tells none from the other. */
function rarityOf(found: readonly ReadonlySet<string>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const words of found) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].map(([word, count]) => [word, Math.log(1 + found.length / count)]));
}

const namesOneOf = ({ call, result }: Candidate, files: readonly string[]): boolean =>
  files.some((file) => (call?.rawArgs.includes(file) ?? false) || result.text.slice(0, 2_000).includes(file));

/** Words and the parts of identifiers, in lower case: `parseConfig` is also `parse` and `config`. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}_]{3,40}/gu)) {
    const parts = word.split(/_|(?<=[a-z0-9])(?=[A-Z])/);
    for (const part of parts.length > 1 ? [word, ...parts] : parts) {
      const lower = part.toLowerCase();
      if (lower.length >= 3 && !COMMON.has(lower)) words.add(lower);
    }
  }
  return words;
}

const COMMON: ReadonlySet<string> = new Set(
  'the and for with that this from are was not you all have has but can will into then than how what which when where who why use used using make please should would could there their them our your its his her out get set new one two any also only just like does did let const function return import export type file files line lines code'.split(
    ' ',
  ),
);
