// Reads one line from a terminal that does not show it. What is pasted may come in pieces and with the terminal's marks around it.

const ENTER = new Set(['\r', '\n', '\u0004']);
const BACKSPACE = new Set(['\b', '\u007f']);
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's sequences begin with ESC.
const SEQUENCE = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|.)/g;

/** Null when the user left with Ctrl-C. */
export function readSecret(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WritableStream,
): Promise<string | null> {
  // First: what is pasted as soon as the question stands there must not be shown.
  input.setRawMode(true).resume();
  output.write(question);
  return new Promise((resolve) => {
    let typed = '';
    const end = (value: string | null) => {
      input.off('data', onData).setRawMode(false).pause();
      output.write('\n');
      resolve(value);
    };
    const onData = (data: Buffer) => {
      for (const char of data.toString('utf8').replace(SEQUENCE, '')) {
        if (char === '\u0003') return end(null);
        if (ENTER.has(char)) return end(typed);
        if (BACKSPACE.has(char)) typed = typed.slice(0, -1);
        else if (char === '\u0015') typed = '';
        else typed += char;
      }
    };
    input.on('data', onData);
  });
}
