// The questions of a login in a plain terminal: on stderr, answered by lines; a key is read without an echo.

import { createInterface } from 'node:readline/promises';
import { cleanLine } from '../../shared/clean-text.ts';
import type { LoginTalk } from './log-in.ts';
import { readSecret } from './read-secret.ts';

export function terminalTalk(input: NodeJS.ReadStream, output: NodeJS.WriteStream): LoginTalk {
  const say = (line: string) => void output.write(`${line}\n`);
  const ask = async (question: string): Promise<string | null> => {
    const reader = createInterface({ input, output });
    const leave = new AbortController();
    reader.once('SIGINT', () => leave.abort()).once('close', () => leave.abort());
    try {
      return await reader.question(question, { signal: leave.signal });
    } catch {
      output.write('\n');
      return null;
    } finally {
      reader.close();
    }
  };
  return {
    say,
    async choose(question, choices) {
      for (const [index, { name, title }] of choices.entries()) {
        const head = `  ${index + 1}  ${cleanLine(name).padEnd(12)} `;
        const lines = wordsIn(cleanLine(title), (output.columns || 80) - head.length);
        lines.forEach((line, i) => say(`${i === 0 ? head : ' '.repeat(head.length)}${line}`));
      }
      for (;;) {
        const said = (await ask(`${question} 1-${choices.length}, or Enter to leave: `))?.trim();
        if (said === undefined || said === '') return null;
        const chosen = choices[Number(said) - 1] ?? choices.find(({ name }) => name === said);
        if (chosen) return chosen.name;
        say(`"${cleanLine(said, 60)}" is none of them.`);
      }
    },
    async line(question, suggested) {
      const said = await ask(`${question}${suggested === '' ? '' : ` [${suggested}]`}: `);
      return said === null ? null : said.trim() === '' ? suggested : said;
    },
    secret: (question) => readSecret(question, input, output),
  };
}

/** Lines of no more than `room` characters, as far as words allow. */
function wordsIn(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
