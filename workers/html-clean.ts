// Prepares a parsed page before its text is taken (SPEC O20, SAFETY 5): what loads, runs, hides or only decorates goes; links are made
// whole and lead to the web alone; code, tables and check boxes take the one form that survives what comes after.

import { languageOf } from './html-code-language.ts';

const GONE = new Set(
  (
    'AUDIO BASE BUTTON CANVAS DIALOG EMBED FRAME FRAMESET IFRAME IMG LINK MAP NOSCRIPT OBJECT PICTURE PORTAL SCRIPT SELECT SOURCE ' +
    'STYLE SVG TEMPLATE TEXTAREA TRACK VIDEO'
  ).split(' '),
);
/** Elements whose `id` is the name of what they are about. */
const NAMED = new Set('H1 H2 H3 H4 H5 H6 SECTION DL DT DD LI P'.split(' '));
/** Text of a link or a heading's mark that says no more than "here". */
const MARK = /^[\s#¶§🔗⚓\u200b\ufeff]*$/u;
const HIDDEN_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const LINE_NUMBERS =
  /(?:^|\s)(?:linenos?|linenodiv|line-?numbers?(?:-rows)?|gutter|blob-num|hljs-ln-numbers|copy-?btn)(?:\s|$)/i;

/** Takes out what is no text for a reader, in the whole document. */
export function stripDocument(document: HtmlDocument): void {
  for (const element of [...document.body.querySelectorAll('*')]) {
    if (isGone(element)) element.remove();
  }
}

/** Gives what is below `root` its plain form; `links` gets the address of each link that stays. */
export function settleContent(root: HtmlElement, url: string, links: Set<string>): void {
  const here = withoutHash(url);
  for (const cell of [...root.querySelectorAll('td, th')]) {
    if (LINE_NUMBERS.test(cell.className)) cell.remove();
  }
  for (const pre of [...root.querySelectorAll('pre')]) settleCode(pre);
  for (const link of [...root.querySelectorAll('a')]) settleLink(link, url, here, links);
  for (const input of [...root.querySelectorAll('input')]) {
    if (input.getAttribute('type')?.toLowerCase() !== 'checkbox' || !input.closest('li')) input.remove();
    else input.replaceWith(input.hasAttribute('checked') ? '☑ ' : '☐ ');
  }
  for (const cell of [...root.querySelectorAll('td, th')]) settleCell(cell);
}

function isGone(element: HtmlElement): boolean {
  const name = element.tagName.toUpperCase();
  if (GONE.has(name)) return true;
  if (element.hasAttribute('hidden') || element.getAttribute('aria-hidden') === 'true') return true;
  // Readability takes a heading called "author" or a section called "comments" for what its name says.
  if (NAMED.has(name)) element.removeAttribute('id');
  const style = element.getAttribute('style');
  if (style === null) return false;
  if (HIDDEN_STYLE.test(style)) return true;
  // How a column is aligned is all that is read of it later.
  if (name !== 'TD' && name !== 'TH') element.removeAttribute('style');
  return false;
}

/** One `pre > code` with the language in its class, whatever the highlighter has made of it. */
function settleCode(pre: HtmlElement): void {
  if (pre.parentElement === null || pre.parentElement.closest('pre')) return;
  const language = languageOf(pre);
  for (const element of [...pre.querySelectorAll('*')]) {
    if (LINE_NUMBERS.test(element.className)) element.remove();
    else if (element.tagName === 'BR') element.replaceWith('\n');
  }
  const parts = [...pre.children].filter(({ tagName }) => tagName === 'CODE').map((part) => part.textContent);
  // Several of them are the same in several dialects.
  const text = parts.length > 1 ? parts.map((part) => part.trimEnd()).join('\n\n') : pre.textContent;
  const code = pre.ownerDocument.createElement('code');
  code.textContent = text.replace(/^\n/, '').trimEnd();
  if (language !== '') code.className = `language-${language}`;
  pre.replaceChildren(code);
  // A highlighter's table, its column of numbers taken out, is no table.
  const table = pre.closest('table');
  if (table && table.textContent.trim() === text.trim()) table.replaceWith(pre);
}

function settleLink(link: HtmlElement, base: string, here: string, links: Set<string>): void {
  if (MARK.test(link.textContent)) return link.remove();
  const target = URL.parse(link.getAttribute('href') ?? '', base);
  const isWeb = target?.protocol === 'https:' || target?.protocol === 'http:';
  if (!target || !isWeb || !link.hasAttribute('href') || target.username !== '' || target.password !== '') {
    return link.replaceWith(...link.childNodes);
  }
  const whole = withoutHash(target.href);
  // In a heading a link to the page itself is its anchor; without a fragment it is a button.
  const isAnchor = whole === here && (target.hash === '' || link.closest('h1, h2, h3, h4, h5, h6') !== null);
  if (isAnchor) return link.replaceWith(...link.childNodes);
  link.setAttribute('href', target.href);
  link.removeAttribute('title');
  if (whole !== here) links.add(whole);
}

/** A cell of a Markdown table is one line: lists become dots, headings bold, code loses its fence. */
function settleCell(cell: HtmlElement): void {
  // Each column it spans becomes one that is written.
  if (!/^\d?$/.test(cell.getAttribute('colspan') ?? '')) cell.setAttribute('colspan', '9');
  if (cell.firstElementChild === null || cell.querySelector('table')) return;
  for (const block of [...cell.querySelectorAll('pre, ul, ol, li, h1, h2, h3, h4, h5, h6, hr, blockquote')]) {
    const { tagName, ownerDocument } = block;
    if (tagName === 'PRE') {
      const code = ownerDocument.createElement('code');
      code.textContent = block.textContent.replace(/\s*\n\s*/g, ' ⏎ ');
      block.replaceWith(code);
    } else if (tagName === 'LI') {
      block.replaceWith(ownerDocument.createElement('br'), '• ', ...block.childNodes);
    } else if (tagName === 'HR') {
      block.remove();
    } else if (/^H\d$/.test(tagName)) {
      const strong = ownerDocument.createElement('strong');
      strong.append(...block.childNodes);
      block.replaceWith(strong, ' ');
    } else {
      block.replaceWith(...block.childNodes);
    }
  }
}

function withoutHash(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}
