// What a file says of itself: the comment it begins with, or a README's first paragraph. Pure.

const MAX_CHARS = 220;
const MAX_PARAGRAPH = 4_000;
const NOT_ABOUT =
  /copyright|licen[cs]e|spdx|all rights reserved|eslint|prettier|istanbul|@ts-|generated|do not edit|coding[:=]|use strict|noinspection|-\*-/i;

/** The comment or docstring at a file's head, as one line; '' when there is none that is about the file. */
export function headComment(text: string): string {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/, 60);
  let block: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').trim();
    if (at === 0 && line.startsWith('#!')) continue;
    const doc = /^[ru]?("""|''')(.*)$/.exec(line);
    if (doc) return blockText(lines, at, doc[1] ?? '', doc[2] ?? '');
    if (line.startsWith('/*')) {
      const end = lines.findIndex((one, i) => i >= at && one.includes('*/'));
      const found = about(
        lines.slice(at, end === -1 ? at + 20 : end + 1).map((one) => one.replace(/^\s*\/?\*+!?\/?|\*\/\s*$/g, '')),
      );
      if (found !== '' || end === -1) return found;
      at = end;
      continue;
    }
    const comment = /^(?:\/\/[/!]?|#(?!include|define|if|pragma|\[)|--|;+|%+)\s?(.*)$/.exec(line);
    if (comment) {
      block.push(comment[1] ?? '');
      continue;
    }
    const found = about(block);
    if (found !== '') return found;
    block = [];
    if (line !== '' && !/^(?:package \w+;?|<\?php|["']use \w+["'];?|from __future__ .*)$/.test(line)) return '';
  }
  return about(block);
}

function blockText(lines: readonly string[], at: number, quote: string, first: string): string {
  const rest = [first, ...lines.slice(at + 1, at + 20)];
  const end = rest.findIndex((line) => line.includes(quote));
  const inside = end === -1 ? rest : [...rest.slice(0, end), (rest[end] ?? '').split(quote)[0] ?? ''];
  return about(inside);
}

/** The first paragraph, at the end of a sentence if it is long. */
function about(lines: readonly string[]): string {
  const from = lines.findIndex((line) => line.trim() !== '');
  if (from === -1) return '';
  const until = lines.findIndex((line, i) => i > from && line.trim() === '');
  const text = lines
    .slice(from, until === -1 ? undefined : until)
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
  return NOT_ABOUT.test(text) ? '' : shorten(text, MAX_CHARS);
}

/** At most so many characters: whole sentences if there is one, else cut with an ellipsis. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  const end = Math.max(cut.lastIndexOf('. '), cut.lastIndexOf('.'));
  return end > most / 3 ? cut.slice(0, end + 1) : `${cut.slice(0, most - 1).trimEnd()}…`;
}

/** A README's title and its first paragraph of prose, without badges, pictures and HTML. */
export function readmeHead(text: string): { readonly title: string; readonly about: string } {
  const lines = withoutComments(text.replace(/^\ufeff/, '')).split(/\r?\n/);
  const titleLine = lines.findIndex((line, i) => /^#\s+\S/.test(line) || /^=+\s*$/.test(lines[i + 1] ?? ''));
  const title = titleLine === -1 ? '' : prose((lines[titleLine] ?? '').replace(/^#\s+/, ''));
  const paragraph: string[] = [];
  for (const line of lines.slice(titleLine + 1)) {
    const isProse =
      /^\s{0,3}[\p{L}\p{N}"'*_`(>[]/u.test(line) && !/^\s*(?:\[!\[|!\[|\[[^\]]+\]:|[-*+]\s|=+\s*$)/.test(line);
    if (isProse) paragraph.push(line.replace(/^\s*>\s?/, ''));
    else if (paragraph.length > 0) break;
  }
  return { title, about: shorten(prose(paragraph.join(' ').slice(0, MAX_PARAGRAPH)), 500) };
}

/** In one pass: the text is a stranger's, and a pattern would begin anew at each beginning that has no end. */
function withoutComments(text: string): string {
  let out = '';
  let at = 0;
  for (let begin = text.indexOf('<!--'); begin !== -1; begin = text.indexOf('<!--', at)) {
    const end = text.indexOf('-->', begin + 4);
    if (end === -1) break;
    out += text.slice(at, begin);
    at = end + 3;
  }
  return out + text.slice(at);
}

/** Links as their text; no pictures. */
const prose = (text: string): string =>
  text
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<[^>]{1,200}>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
