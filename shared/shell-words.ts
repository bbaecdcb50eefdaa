// The words of a shell script, roughly: enough to tell what it is about (command-sign.ts). Nothing is decided by it; what a command may do
// is read by a real parser in tools/safety.

/** Begins the word that stands for a redirection into a file. */
export const WRITES_TO = '\0>';

/** The words of each simple command, quotes taken off. Bodies of here-documents, comments and what is read from are left out. */
export function simpleCommands(script: string): readonly (readonly string[])[] {
  const text = withoutHeredocs(script);
  const commands: string[][] = [[]];
  let word: string | null = null;
  const endWord = () => {
    if (word !== null) commands.at(-1)?.push(word);
    word = null;
  };
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "'" || char === '"') {
      const end = closingQuote(text, i);
      word = (word ?? '') + text.slice(i + 1, end);
      i = end;
    } else if (char === '\\') {
      i++;
      if (text.charAt(i) !== '\n') word = (word ?? '') + text.charAt(i);
    } else if (char === '#' && word === null) {
      i = (text.indexOf('\n', i) + 1 || text.length + 1) - 2;
    } else if (char === '>' || char === '<') {
      // A number or & before it is the descriptor, no word.
      if (word !== null && !/^(\d|&)$/.test(word)) endWord();
      word = null;
      const { target, end } = redirection(text, i);
      if (char === '>' && target !== '' && target !== '/dev/null') commands.at(-1)?.push(`${WRITES_TO}${target}`);
      i = end;
    } else if (char === '&' && text.charAt(i + 1) === '>') {
      endWord();
      word = '&';
    } else if (/[;&|\n()`]/.test(char)) {
      endWord();
      commands.push([]);
    } else if (/\s/.test(char)) endWord();
    else word = (word ?? '') + char;
  }
  endWord();
  return commands.filter((words) => words.length > 0);
}

/** Where it leads, '' when into another descriptor or a process, and the index of its last character. */
function redirection(text: string, at: number): { readonly target: string; readonly end: number } {
  const match = /^(?:[<>]{1,3}\|?)(&?)[ \t]*(['"]?)([^\s;&|()<>'"]*)\2/.exec(text.slice(at));
  if (!match) return { target: '', end: at };
  return { target: match[1] === '&' ? '' : (match[3] ?? ''), end: at + match[0].length - 1 };
}

function closingQuote(text: string, at: number): number {
  const quote = text.charAt(at);
  for (let i = at + 1; i < text.length; i++) {
    if (quote === '"' && text.charAt(i) === '\\') i++;
    else if (text.charAt(i) === quote) return i;
  }
  return text.length;
}

const withoutHeredocs = (script: string): string =>
  script.replace(/<<-?[ \t]*(['"]?)(\w+)\1([^\n]*)\n(?:[^\n]*\n)*?[ \t]*\2(?=\n|$)/g, '$3');
