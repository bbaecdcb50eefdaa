// Glob patterns over relative paths with slashes: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `{1..3}`, `**`, `\x`. Dot files match like
// any other name. What a search walks is ripgrep's business; this decides which of the paths it prints were asked for.

/** The folder that a pattern names before its first wildcard, and what is left: `src/a/*.ts` → `src/a`, `*.ts`. */
export interface SplitGlob {
  readonly base: string;
  readonly rest: string;
}

const MAGIC = /[*?[{\\]/;

export function splitGlob(pattern: string): SplitGlob {
  const absolute = pattern.startsWith('/');
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  if (pattern.endsWith('/')) parts.push('**');
  const magic = parts.findIndex((part) => MAGIC.test(part));
  const cut = Math.min(magic === -1 ? parts.length : magic, parts.length - 1);
  return { base: (absolute ? '/' : '') + parts.slice(0, cut).join('/'), rest: parts.slice(cut).join('/') };
}

/** True when the pattern can match below folders without naming how deep. */
export const isDeepGlob = (pattern: string): boolean => pattern.includes('**');

/** The pattern as a regular expression over a whole relative path. */
export function globRegExp(pattern: string): RegExp {
  return new RegExp(`^${translate(pattern)}$`, 'su');
}

function translate(glob: string): string {
  let out = '';
  for (let i = 0; i < glob.length; ) {
    const [piece, next] = translateAt(glob, i);
    out += piece;
    i = next;
  }
  return out;
}

/** The regular expression of what stands at `i`, and where it ends. */
function translateAt(glob: string, i: number): [string, number] {
  const char = glob.charAt(i);
  if (char === '*') return translateStars(glob, i);
  if (char === '?') return ['[^/]', i + 1];
  if (char === '[') return translateClass(glob, i);
  if (char === '{') return translateBraces(glob, i);
  if (char === '\\' && i + 1 < glob.length) return literalAt(glob, i + 1);
  return literalAt(glob, i);
}

function translateStars(glob: string, i: number): [string, number] {
  let end = i;
  while (glob.charAt(end) === '*') end++;
  const alone = (i === 0 || glob.charAt(i - 1) === '/') && (end === glob.length || glob.charAt(end) === '/');
  if (end - i < 2 || !alone) return ['[^/]*', end];
  if (end === glob.length) return ['.+', end];
  let next = end + 1;
  while (glob.startsWith('**/', next)) next += 3;
  return ['(?:[^/]+/)*', next];
}

function translateClass(glob: string, i: number): [string, number] {
  const negated = /[!^]/.test(glob.charAt(i + 1));
  const from = i + (negated ? 2 : 1);
  const end = glob.indexOf(']', from + 1);
  if (end === -1) return literalAt(glob, i);
  const members = glob.slice(from, end).replace(/[\\[\]^&~|]/g, '\\$&');
  const source = `(?!/)[${negated ? '^' : ''}${members}]`;
  return isRegExp(source) ? [source, end + 1] : literalAt(glob, i);
}

function translateBraces(glob: string, i: number): [string, number] {
  const end = closingBrace(glob, i);
  if (end === -1) return literalAt(glob, i);
  const body = glob.slice(i + 1, end);
  const range = /^(-?\d+)\.\.(-?\d+)$/.exec(body);
  const options = range ? numbers(Number(range[1]), Number(range[2])) : splitOptions(body);
  if (options.length < 2 && !range) return [`\\{${translate(body)}\\}`, end + 1];
  return [`(?:${options.map(translate).join('|')})`, end + 1];
}

function closingBrace(glob: string, open: number): number {
  let depth = 0;
  for (let i = open; i < glob.length; i++) {
    if (glob[i] === '\\') i++;
    else if (glob[i] === '{') depth++;
    else if (glob[i] === '}' && --depth === 0) return i;
  }
  return -1;
}

/** The options of a brace's body, split at its own commas. */
function splitOptions(body: string): readonly string[] {
  const options: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < body.length; i++) {
    if (body[i] === '\\') i++;
    else if (body[i] === '{') depth++;
    else if (body[i] === '}') depth--;
    else if (body[i] === ',' && depth === 0) {
      options.push(body.slice(from, i));
      from = i + 1;
    }
  }
  return [...options, body.slice(from)];
}

/** At most a thousand: a range is written by a model. */
function numbers(from: number, to: number): readonly string[] {
  const count = Math.min(Math.abs(to - from), 999) + 1;
  return Array.from({ length: count }, (_, k) => String(from + (to < from ? -k : k)));
}

function literalAt(glob: string, i: number): [string, number] {
  const char = String.fromCodePoint(glob.codePointAt(i) ?? 0);
  return [char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&'), i + char.length];
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source, 'su');
    return true;
  } catch {
    return false;
  }
}
