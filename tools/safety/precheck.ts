// R0: text that a person cannot read as it will run is refused before any parser sees it.

export const MAX_COMMAND_BYTES = 16 * 1024;

// Control characters except tab and newline; spaces that are not the space; zero-width, invisible filler, bidirectional,
// interlinear, tag and supplementary variation characters; halves of a surrogate pair.
const UNREADABLE =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e01ef}]|\p{Surrogate}/u;

/** Why the text cannot be judged, or undefined when it can. */
export function precheck(text: string): string | undefined {
  if (text.length > MAX_COMMAND_BYTES || Buffer.byteLength(text) > MAX_COMMAND_BYTES) {
    return `The command is longer than ${MAX_COMMAND_BYTES} bytes. Put the text in a file of the project, or split the command.`;
  }
  const found = UNREADABLE.exec(text);
  if (found === null) return undefined;
  const code = found[0].codePointAt(0) ?? 0;
  return `The command holds the invisible or control character U+${code.toString(16).toUpperCase().padStart(4, '0')}. Write it without.`;
}

export const isAscii = (text: string): boolean => !/[^ -~]/.test(text);
