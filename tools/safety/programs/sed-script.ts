// Reads sed scripts command by command, because w, r and e reach files and programs (R10, R16).

/** What a script does beyond editing its stream. `unclear` when it could not be read to its end. */
export interface SedEffects {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly runs: boolean;
  readonly unclear: boolean;
}

/**
 * Reads a sed script as GNU sed does. Pure. Versions differ in whether brackets hide the delimiter in `s/[/]/x/`: what
 * either reading would do counts.
 */
export function readSedScript(script: string): SedEffects {
  const now = readAs(script, true);
  if (!script.includes('[')) return now;
  const before = readAs(script, false);
  return {
    reads: [...now.reads, ...before.reads],
    writes: [...now.writes, ...before.writes],
    runs: now.runs || before.runs,
    unclear: now.unclear,
  };
}

interface Reading {
  readonly script: string;
  readonly brackets: boolean;
  at: number;
  readonly reads: string[];
  readonly writes: string[];
  runs: boolean;
}

function readAs(script: string, brackets: boolean): SedEffects {
  const reading: Reading = { script, brackets, at: 0, reads: [], writes: [], runs: false };
  let clear = true;
  while (clear) {
    skip(reading, /[\s;{}]*/y);
    if (reading.at >= script.length) break;
    clear = skipAddresses(reading) && readCommand(reading);
  }
  return { reads: reading.reads, writes: reading.writes, runs: reading.runs, unclear: !clear };
}

/** Reads one command at its letter; false when it is none that is known. */
function readCommand(reading: Reading): boolean {
  const name = reading.script[reading.at++] ?? ';';
  if (/[{}dDgGhHnNpPxzF=;]/.test(name)) return true;
  if (name === '#') restOfLine(reading);
  else if (/[btT:]/.test(name)) skip(reading, /[^;\n}]*/y);
  else if (/[qQlLv]/.test(name)) skip(reading, /[ \t]*[\w.]*/y);
  else if (/[rR]/.test(name)) reading.reads.push(restOfLine(reading));
  else if (/[wW]/.test(name)) reading.writes.push(restOfLine(reading));
  else if (name === 'e') {
    reading.runs = true;
    restOfLine(reading);
  } else if (/[aic]/.test(name)) skipText(reading);
  else if (name === 'y') return skipParts(reading, false);
  else if (name === 's') return readSubstitution(reading);
  else return false;
  return true;
}

function readSubstitution(reading: Reading): boolean {
  if (!skipParts(reading, reading.brackets)) return false;
  const from = reading.at;
  skip(reading, /[gpimIMe0-9]*/y);
  if (reading.script.slice(from, reading.at).includes('e')) reading.runs = true;
  if (reading.script[reading.at] !== 'w') return true;
  reading.at++;
  reading.writes.push(restOfLine(reading));
  return true;
}

/** Passes addresses and `!`; false when an address does not end. */
function skipAddresses(reading: Reading): boolean {
  for (;;) {
    skip(reading, /[\s,!]*/y);
    const char = reading.script[reading.at];
    if (char === '/' || char === '\\') {
      if (char === '\\') reading.at++;
      const delimiter = reading.script[reading.at++];
      if (delimiter === undefined || !skipTo(reading, delimiter, reading.brackets, false)) return false;
      skip(reading, /[IM]*/y);
    } else if (char !== undefined && /[0-9$+~]/.test(char)) skip(reading, /[0-9$+~]+/y);
    else return true;
  }
}

/** Passes `/regex/replacement/`, from its first delimiter on. */
function skipParts(reading: Reading, brackets: boolean): boolean {
  const delimiter = reading.script[reading.at++];
  if (delimiter === undefined || delimiter === '\n' || delimiter === '\\') return false;
  return skipTo(reading, delimiter, brackets, false) && skipTo(reading, delimiter, false, true);
}

/** Passes the next delimiter that is not escaped and, when brackets count, not in a bracket expression. */
function skipTo(reading: Reading, delimiter: string, brackets: boolean, newlines: boolean): boolean {
  const { script } = reading;
  for (; reading.at < script.length; reading.at++) {
    const char = script[reading.at];
    if (char === delimiter) {
      reading.at++;
      return true;
    }
    if (char === '\\') reading.at++;
    else if (char === '\n' && !newlines) return false;
    else if (char === '[' && brackets) skipBracket(reading);
  }
  return false;
}

function skipBracket(reading: Reading): void {
  const expression = /\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]])*\]/y;
  expression.lastIndex = reading.at;
  if (expression.test(reading.script)) reading.at = expression.lastIndex - 1;
}

/** Passes the text of a, i and c: to the end of the line, lines that end in a backslash included. */
function skipText(reading: Reading): void {
  const { script } = reading;
  for (;;) {
    const end = script.indexOf('\n', reading.at);
    if (end < 0) {
      reading.at = script.length;
      return;
    }
    let slashes = 0;
    while (script[end - 1 - slashes] === '\\') slashes++;
    reading.at = end + 1;
    if (slashes % 2 === 0) return;
  }
}

function restOfLine(reading: Reading): string {
  const end = reading.script.indexOf('\n', reading.at);
  const text = reading.script.slice(reading.at, end < 0 ? undefined : end);
  reading.at = end < 0 ? reading.script.length : end;
  return text.trim();
}

function skip(reading: Reading, what: RegExp): void {
  what.lastIndex = reading.at;
  if (what.test(reading.script)) reading.at = what.lastIndex;
}
