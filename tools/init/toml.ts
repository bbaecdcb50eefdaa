// As much TOML as manifests need: sections, strings, lists of strings. Anything else is kept as it is written. It never fails: what it
// cannot read is not a fact.

export type TomlValue = string | readonly string[];
/** Keys by section; those before the first section are under ''. Sections `[[name]]` that repeat are numbered: name, name#1, … */
export type Toml = ReadonlyMap<string, ReadonlyMap<string, TomlValue>>;

export function readToml(text: string): Toml {
  const sections = new Map<string, Map<string, TomlValue>>();
  let section = open(sections, '');
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = withoutComment(lines[at] ?? '');
    const header = /^\s*(\[\[?)([^[\]]+)\]\]?\s*$/.exec(line);
    if (header) {
      const name = (header[2] ?? '').replaceAll(/["'\s]/g, '');
      section = open(sections, header[1] === '[[' ? freeName(sections, name) : name);
      continue;
    }
    const pair = /^\s*([\w."'-]+)\s*=\s*(.*)$/.exec(line);
    if (!pair) continue;
    let raw = (pair[2] ?? '').trim();
    if (raw.startsWith('[') && !isClosed(raw)) {
      while (++at < lines.length) {
        raw += ` ${withoutComment(lines[at] ?? '').trim()}`;
        if (isClosed(raw)) break;
      }
    }
    section.set((pair[1] ?? '').replaceAll(/["']/g, ''), valueOf(raw));
  }
  return sections;
}

/** The string at a place; '' when there is none. */
export function tomlString(toml: Toml, section: string, key: string): string {
  const value = toml.get(section)?.get(key);
  return typeof value === 'string' ? value : '';
}

/** The strings of a list; none when there is no list. */
export function tomlList(toml: Toml, section: string, key: string): readonly string[] {
  const value = toml.get(section)?.get(key);
  return typeof value === 'object' ? value : [];
}

function open(sections: Map<string, Map<string, TomlValue>>, name: string): Map<string, TomlValue> {
  const section = sections.get(name) ?? new Map<string, TomlValue>();
  sections.set(name, section);
  return section;
}

function freeName(sections: ReadonlyMap<string, unknown>, name: string): string {
  for (let n = 0; ; n++) {
    const free = n === 0 ? name : `${name}#${n}`;
    if (!sections.has(free)) return free;
  }
}

/** A `#` outside of quotes ends the line. */
function withoutComment(line: string): string {
  if (!line.includes('#')) return line;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i);
    if (quote === '' && char === '#') return line.slice(0, i);
    if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === quote) quote = '';
  }
  return line;
}

const isClosed = (raw: string): boolean => raw.endsWith(']');

function valueOf(raw: string): TomlValue {
  if (raw.startsWith('[')) return [...raw.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, a, b]) => a ?? b ?? '');
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(raw);
  if (!quoted) return raw;
  return quoted[2] ?? (quoted[1] ?? '').replaceAll(/\\(["\\])/g, '$1');
}
