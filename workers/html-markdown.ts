// HTML to Markdown (SPEC O20, LIBRARIES 4): jsdom parses and runs nothing, Readability finds the article, turndown writes it. Where
// Readability would lose code, tables or headings, as it does on reference pages, the page's own main part is taken instead.

import { gfm } from '@joplin/turndown-plugin-gfm';
import { Readability } from '@mozilla/readability';
import { JSDOM, VirtualConsole } from 'jsdom';
import TurndownService from 'turndown';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { WebDocument } from '../shared/web-port.ts';
import { settleContent, stripDocument } from './html-clean.ts';
import { MAX_DEPTH, weighHtml } from './html-limits.ts';

const MAX_HTML_CHARS = 1_000_000;
const MAX_LINKS = 2_000;
/** Readability's time grows faster than a page; a longer one is taken as it is. */
const MAX_ELEMENTS_TO_READ = 20_000;
const MAX_MARKED_CHARS_TO_READ = 300_000;
/** A README or a page of a wiki, as GitHub and others show it: all of it was written by its author. */
const RENDERED = '.markdown-body';
/** A marked part with less of the page's text than this is a frame for something else. */
const MAIN_SHARE = 0.15;
const AROUND =
  'nav, aside, body > header, body > footer, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"], ' +
  '[role="complementary"], .sidebar, #sidebar, .sidenav, .toc-sidebar, .breadcrumbs, .cookie-banner, .skip-link';

export function htmlToMarkdown(given: string, url: string): Outcome<WebDocument> {
  const notes: string[] = [];
  const html = given.length > MAX_HTML_CHARS ? given.slice(0, given.lastIndexOf('<', MAX_HTML_CHARS)) : given;
  if (html !== given) notes.push(`Only the first ${MAX_HTML_CHARS} of ${given.length} characters of HTML were read.`);
  const weighed = weighHtml(html);
  if ('tooMuch' in weighed) return refuse(url, weighed.tooMuch);

  const { window } = new JSDOM(weighed.html, { url, virtualConsole: new VirtualConsole() });
  try {
    const { document } = window;
    if (depthOver(document.body, MAX_DEPTH * 2)) return refuse(url, 'elements nested too deep');
    stripDocument(document);
    const main = mainOf(document);
    if (main !== document.body) document.body.replaceChildren(main);
    const links = new Set<string>();
    settleContent(main, url, links);
    const title = lineOf(main.querySelector('h1')?.textContent ?? '') || lineOf(document.title);
    const isWhole =
      html !== given ||
      main.matches(RENDERED) ||
      (main !== document.body && html.length > MAX_MARKED_CHARS_TO_READ) ||
      document.querySelectorAll('*').length > MAX_ELEMENTS_TO_READ;
    const content = isWhole ? main.innerHTML : articleOf(document, main, title);
    const body = turndown().turndown(content).trim();
    // Readability takes the page's heading out.
    const text = title !== '' && !/<h1[\s>]/i.test(content) ? `# ${title}\n\n${body}`.trim() : body;
    if (body === '') notes.push('The page has no text: it may be made by a script, which WebFetch does not run.');
    return ok({ format: 'markdown', title, text, links: [...links].slice(0, MAX_LINKS), notes });
  } finally {
    window.close();
  }
}

const refuse = (url: string, why: string): Outcome<never> =>
  fail('failed', 'too_heavy', `${url} has ${why}; it was not read. Look for the same text on another page.`);

const lineOf = (text: string): string =>
  text
    .replace(/[\s¶#]+/g, ' ')
    .trim()
    .slice(0, 300);

/** The tree as it was parsed, where what the text left open was closed. Without recursion: the depth is what is in doubt. */
function depthOver(root: HtmlElement, limit: number): boolean {
  let level: HtmlElement[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((element) => [...element.children]);
  }
  return false;
}

/** Readability's article as HTML, or the main part as it is where the article lacks some of it. */
function articleOf(document: HtmlDocument, main: HtmlElement, title: string): string {
  const copied = document.cloneNode(true);
  // It would become a second heading below the title.
  const heading = copied.querySelector('h1');
  if (heading && lineOf(heading.textContent) === title) heading.remove();
  const copy = copied as unknown as ConstructorParameters<typeof Readability>[0];
  const serializer = (node: unknown) => node as HtmlElement;
  const article = new Readability<HtmlElement>(copy, { keepClasses: true, serializer }).parse()?.content;
  return article && !losesMuch(weigh(main), weigh(article), main !== document.body)
    ? article.innerHTML
    : main.innerHTML;
}

/** What the page marks as its main part, without what leads around the site; the whole body when it marks none. */
function mainOf(document: HtmlDocument): HtmlElement {
  const rendered = [...document.body.querySelectorAll(RENDERED)];
  const mains = [...document.body.querySelectorAll('main, [role="main"]')];
  const articles = [...document.body.querySelectorAll('article')];
  // Several of a kind are a list: of comments, of posts.
  const marked = [rendered, mains, articles].find((found) => found.length === 1)?.[0];
  const isMost = marked !== undefined && marked.textContent.length >= document.body.textContent.length * MAIN_SHARE;
  const root = isMost ? marked : document.body;
  for (const element of [...root.querySelectorAll(AROUND)]) element.remove();
  return root;
}

interface Weight {
  readonly text: number;
  readonly blocks: number;
  readonly headings: number;
  readonly links: number;
}

const weigh = (element: HtmlElement): Weight => ({
  text: element.textContent.replace(/\s+/g, ' ').length,
  blocks: element.querySelectorAll('pre, tr').length,
  headings: element.querySelectorAll('h2, h3, h4, dt').length,
  links: element.querySelectorAll('a').length,
});

/** What is outside of a marked main part is known not to matter; of a whole body only code and tables are. */
function losesMuch(before: Weight, after: Weight, isMarked: boolean): boolean {
  if (after.blocks < before.blocks * 0.95) return true;
  if (!isMarked) return after.text < before.text * 0.25 || after.headings < before.headings * 0.5;
  return after.text < before.text * 0.7 || after.headings < before.headings * 0.8 || after.links < before.links * 0.5;
}

function turndown(): TurndownService {
  const service = new TurndownService({
    headingStyle: 'atx',
    hr: '---',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  });
  service.use(gfm);
  service.addRule('item', { filter: 'li', replacement: listItems() });
  service.addRule('term', {
    filter: 'dt',
    replacement: (content) => `\n\n**${content.trim().replace(/\*\*/g, '')}**\n`,
  });
  service.addRule('line', { filter: 'br', replacement: () => '\n' });
  // Identifiers stay as they are: a model reads the text, nobody renders it.
  service.escape = (text) => text.replace(/^(?:[-+>]|#{1,6} |\d+\. )/, '\\$&');
  return service;
}

/** "- " and "1. " and no more spaces behind. */
function listItems(): (content: string, item: HtmlElement) => string {
  const counted = new WeakMap<HtmlElement, number>();
  return (content, { parentNode: list }) => {
    let prefix = '- ';
    if (list?.nodeName === 'OL') {
      const start = Number(list.getAttribute('start') ?? 1);
      const number = counted.get(list) ?? (Number.isInteger(start) ? start : 1);
      counted.set(list, number + 1);
      prefix = `${number}. `;
    }
    const [first = '', ...rest] = content
      .trim()
      .replace(/\n{3,}/g, '\n\n')
      .split('\n');
    const indent = ' '.repeat(prefix.length);
    return `${[prefix + first, ...rest.map((line) => (line === '' ? '' : indent + line))].join('\n')}\n`;
  };
}
