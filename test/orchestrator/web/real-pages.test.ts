// Seven pages of real documentation, and what must be left of each: what the HTML holds is read with a parser of its own here.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { JSDOM, VirtualConsole } from 'jsdom';
import { type HeavyPool, openPagePool } from '../../../orchestrator/pool.ts';
import type { WebDocument } from '../../../shared/web-port.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/web-pages');
const PAGES = readdirSync(FOLDER).filter((name) => name.endsWith('.html'));
const BASE = 'https://docs.npmjs.com/cli/v11/';

const pool: HeavyPool = openPagePool();
afterAll(() => pool.close());

async function convert(name: string): Promise<WebDocument> {
  const bytes = new Uint8Array(readFileSync(join(FOLDER, name)));
  const input = { bytes, contentType: 'text/html', charset: null, url: BASE + name };
  const outcome = await pool.run('page', input, new AbortController().signal);
  if (!outcome.ok) throw new Error(outcome.failure.message);
  return outcome.value;
}

const words = (text: string): string =>
  text
    .replace(/[`*\\]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
const unlinked = (markdown: string): string => markdown.replace(/\]\([^)\s]*\)/g, ']').replace(/[[\]]/g, '');

const counted = { headings: 0, code: 0, cells: 0, items: 0, links: 0 };

for (const name of PAGES) {
  test(`O20: ${name} keeps its headings, code with its language, tables, lists and links`, async () => {
    const { text, title, links } = await convert(name);
    const source = readFileSync(join(FOLDER, name), 'utf8').replace(/<style[\s\S]*?<\/style>/g, '');
    const { document } = new JSDOM(source, {
      url: BASE + name,
      virtualConsole: new VirtualConsole(),
    }).window;
    const article = document.querySelector('#content section, section#content, #content') ?? document.body;
    for (const around of document.querySelectorAll('#table_of_contents, #_table_of_contents, nav, footer'))
      around.remove();
    const lines = text.split('\n');
    const headings = new Set(
      lines.filter((line) => /^#{1,6} /.test(line)).map((line) => words(unlinked(line.replace(/^#+ /, '')))),
    );
    const unescaped = text.replace(/\\([()])/g, '$1');
    const rows = words(unlinked(lines.filter((line) => line.startsWith('|')).join('\n')));
    const plain = words(unlinked(text));

    expect(text.startsWith('# ')).toBe(true);
    expect(title).not.toBe('');
    for (const heading of article.querySelectorAll('h2, h3, h4, h5')) {
      expect({
        name,
        heading: headings.has(words(unlinked(heading.textContent))) || words(heading.textContent),
      }).toEqual({
        name,
        heading: true,
      });
      counted.headings++;
    }
    for (const pre of article.querySelectorAll('pre')) {
      const language = /language-(\w+)/.exec(pre.querySelector('code')?.className ?? '')?.[1] ?? '';
      expect(text).toContain(`\`\`\`${language}\n${pre.textContent.trimEnd()}\n\`\`\``);
      counted.code++;
    }
    for (const cell of article.querySelectorAll('td, th')) {
      expect({ name, cell: rows.includes(words(unlinked(cell.textContent))) || cell.textContent }).toEqual({
        name,
        cell: true,
      });
      counted.cells++;
    }
    for (const item of article.querySelectorAll('li')) {
      if (item.querySelector('ul, ol, pre, table')) continue;
      const wanted = words(item.textContent.replace(/[[\]]/g, ''));
      expect({ name, item: plain.includes(wanted) || wanted }).toEqual({ name, item: true });
      counted.items++;
    }
    for (const link of article.querySelectorAll('a[href]')) {
      const target = new URL(link.getAttribute('href') ?? '', BASE + name);
      if (!target.protocol.startsWith('http') || words(link.textContent) === '') continue;
      if (target.href.startsWith(BASE + name)) continue;
      expect({ name, to: unescaped.includes(`](${target.href})`) || target.href }).toEqual({ name, to: true });
      expect(links).toContain(target.href.replace(/#.*/, ''));
      counted.links++;
    }
    expect(text).not.toMatch(/<(?:div|span|table|script|style|img)\b/);
  });
}

test('O20: seven pages were compared, with all that such pages hold', () => {
  expect(PAGES.length).toBe(7);
  expect(counted.headings).toBeGreaterThan(100);
  expect(counted.code).toBeGreaterThan(80);
  expect(counted.cells).toBeGreaterThan(200);
  expect(counted.items).toBeGreaterThan(50);
  expect(counted.links).toBeGreaterThan(40);
});
