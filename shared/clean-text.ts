// Text from models, tools and files, made safe for a terminal (SAFETY 4, "Terminal cleaning"): escape sequences are removed, other
// control characters become U+FFFD, and what is invisible or turns the reading order is shown as <U+XXXX>.

/** Zero-width, bidirectional, filler, tag and variation characters, line and paragraph separators: invisible, yet they change what is read. */
const INVISIBLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
/** C0 without tab and newline, DEL, C1, and surrogates without their other half. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|[\ud800-\udfff]/u;
/** A whole sequence: CSI; OSC, DCS, SOS, PM, APC up to their end; any other escape. 7-bit and 8-bit forms. A string never spans lines. */
const SEQUENCE =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0080-\u009f\n\r]{0,4096}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-Z\\`-~]/u;
/** The start of a sequence, or half a character, at the end of a chunk: kept back until more is there. */
const UNFINISHED =
  /(?:(?:\u001b\[|\u009b)[0-?]*[ -/]*|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0080-\u009f\n\r]{0,4096}\u001b?|\u001b[ -/]*|\r|[\ud800-\udbff])$/;

/** All of them in one pass: taking one thing out must not make another of what stood around it. */
const UNSAFE = new RegExp(`(${SEQUENCE.source})|(\\r\\n?)|(${CONTROL.source})|${INVISIBLE.source}`, 'gu');

/** The text as it may be printed. Lines stay lines; the result is the same when it is cleaned again. */
export function cleanText(text: string): string {
  return text.replace(UNSAFE, (found: string, sequence?: string, newline?: string, control?: string) => {
    if (sequence !== undefined) return '';
    if (newline !== undefined) return '\n';
    if (control !== undefined) return '\ufffd';
    return `<U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

/** On one line: newlines become spaces, and what is over `max` characters is cut with an ellipsis. */
export function cleanLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = cleanText(text).replace(/\s+/g, ' ').trim();
  const chars = line.length > max ? [...line] : [];
  return chars.length > max ? `${chars.slice(0, max - 1).join('')}…` : line;
}

/** Cleans a stream: a sequence that a chunk cuts in two is still one sequence. */
export class StreamCleaner {
  #held = '';

  push(chunk: string): string {
    const text = this.#held + chunk;
    const cut = UNFINISHED.exec(text)?.index ?? text.length;
    this.#held = text.slice(cut);
    return cleanText(text.slice(0, cut));
  }

  /** What was kept back and never got its end. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = '';
    return rest;
  }
}
