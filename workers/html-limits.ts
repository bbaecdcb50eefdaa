// Looks at HTML before it is parsed (SAFETY 5): parsing and reading take time that grows with the square of the nesting, so what no
// person's page has is refused first. One pass over the text, no tree. The count is rough; the thread's time and memory are the
// hard limits behind it. On the way it takes out scripts and style sheets, which jsdom would read with care for nothing.

export const MAX_DEPTH = 200;
const MAX_ELEMENTS = 60_000;
const MAX_ATTRIBUTES_OF_TAG = 200;
const MAX_ATTRIBUTES = 300_000;

const VOID = new Set(
  'area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr'.split(' '),
);
/** Closed by their next sibling, so that pages leave out their ends; they cannot nest but in something that is counted. */
const ENDS_ITSELF = new Set(
  'a button colgroup dd dt li nobr optgroup option p rb rp rt rtc tbody td tfoot th thead tr'.split(' '),
);
/** Up to their end tag all is text. */
const RAW_TEXT = new Set('iframe noembed noframes script style textarea title xmp'.split(' '));

/** What is too much of it, in words; or the HTML that may be parsed. */
export type Weighed = { readonly tooMuch: string } | { readonly html: string };

export function weighHtml(html: string): Weighed {
  const kept: string[] = [];
  let keptTo = 0;
  const open: string[] = [];
  let elements = 0;
  let attributes = 0;
  const tag = /<(?:!--[\s\S]*?(?:-->|$)|(\/?)([a-zA-Z][^\s/>]*)|[!?][^>]*>?)/g;
  for (let found = tag.exec(html); found; found = tag.exec(html)) {
    const [, slash, written] = found;
    if (written === undefined) continue;
    const name = written.slice(0, 40).toLowerCase();
    const end = endOfTag(html, tag.lastIndex);
    tag.lastIndex = end.at;
    if (slash === '/') {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.length = at;
      continue;
    }
    elements++;
    attributes += end.attributes;
    if (elements > MAX_ELEMENTS) return { tooMuch: `over ${MAX_ELEMENTS} elements` };
    if (end.attributes > MAX_ATTRIBUTES_OF_TAG) {
      return { tooMuch: `a tag with over ${MAX_ATTRIBUTES_OF_TAG} attributes` };
    }
    if (attributes > MAX_ATTRIBUTES) return { tooMuch: `over ${MAX_ATTRIBUTES} attributes` };
    if (VOID.has(name) || ENDS_ITSELF.has(name) || (end.closed && isDrawn(open))) continue;
    if (RAW_TEXT.has(name)) {
      tag.lastIndex = endOfRawText(html, name, end.at);
      if (name === 'script' || name === 'style') {
        kept.push(html.slice(keptTo, end.at));
        keptTo = tag.lastIndex;
      }
      continue;
    }
    open.push(name);
    if (open.length > MAX_DEPTH) return { tooMuch: `elements nested over ${MAX_DEPTH} deep` };
  }
  return { html: [...kept, html.slice(keptTo)].join('') };
}

/** Inside a drawing a tag may close itself. */
const isDrawn = (open: readonly string[]): boolean => open.includes('svg') || open.includes('math');

interface TagEnd {
  /** Behind its `>`. */
  readonly at: number;
  readonly attributes: number;
  readonly closed: boolean;
}

/** Where a tag ends, quotes respected, and how many attributes it has. */
function endOfTag(html: string, from: number): TagEnd {
  const part = /[^\s/>=][^\s/>=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?|>/g;
  part.lastIndex = from;
  let attributes = 0;
  for (let found = part.exec(html); found; found = part.exec(html)) {
    if (found[0] === '>') return { at: part.lastIndex, attributes, closed: html[found.index - 1] === '/' };
    attributes++;
    if (attributes > MAX_ATTRIBUTES_OF_TAG) break;
  }
  return { at: html.length, attributes, closed: false };
}

function endOfRawText(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s/>]`, 'gi');
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}
