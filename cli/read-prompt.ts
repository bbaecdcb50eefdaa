// The prompt of a run: from the arguments, or from stdin (`-`, or a pipe when there are no arguments). Null: a person is to be asked.

import { text } from 'node:stream/consumers';
import { UserError } from '../shared/outcome.ts';

export async function readPrompt(
  words: readonly string[],
  /** How one is given. */
  example = 'odin run "where is the retry policy decided?"',
  stdin: NodeJS.ReadStream = process.stdin,
): Promise<string | null> {
  const isFromStdin = words.length === 1 && words[0] === '-';
  if (words.length === 0 && stdin.isTTY) return null;
  const prompt = words.length === 0 || isFromStdin ? await text(stdin) : words.join(' ');
  if (prompt.trim() === '') {
    throw new UserError(`the prompt is empty. Give one: ${example}, or pipe one in.`);
  }
  return prompt.trim();
}
