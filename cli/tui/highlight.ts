// Colours for code (highlight.js, a chosen few languages). It is loaded behind the first answer: until it is there code stands plain.

import type * as Highlighter from './highlighter.js';
import type { Theme } from './theme.ts';

const ALIASES: Readonly<Record<string, string>> = {
  ts: 'typescript',
  tsx: 'typescript',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  py: 'python',
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  yml: 'yaml',
  rs: 'rust',
  html: 'xml',
  md: 'markdown',
  'c++': 'cpp',
  h: 'cpp',
  c: 'cpp',
  patch: 'diff',
  jsonc: 'json',
};

/** Longer blocks are left plain: they would hold the keyboard up. */
const MAX_CHARS = 20_000;
let loaded: Pick<typeof Highlighter, 'knows' | 'toHtml'> | null = null;

export async function loadHighlighter(): Promise<void> {
  loaded = await import('./highlighter.js');
}

/** The code's lines, coloured where its language is known. The code is clean already. */
export function highlightLines(theme: Theme, code: string, language = ''): string[] {
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  if (loaded === null || theme.name === 'plain' || code.length > MAX_CHARS || !loaded.knows(name)) {
    return code.split('\n');
  }
  return paintHtml(loaded.toHtml(code, name), theme);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };

/** highlight.js's own HTML: spans with classes and a handful of entities, nothing else. Each line is coloured on its own. */
function paintHtml(html: string, theme: Theme): string[] {
  const lines: string[] = [''];
  const open: string[] = [];
  for (const part of html.match(/<span class="[^"]*">|<\/span>|[^<]+/g) ?? []) {
    if (part === '</span>') open.pop();
    else if (part.startsWith('<')) open.push(/hljs-([a-z_]+)/.exec(part)?.[1] ?? '');
    else {
      const style = open.map((name) => theme.syntax[name]).findLast((found) => found !== undefined);
      const text = part.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name] ?? '');
      text.split('\n').forEach((piece, i) => {
        if (i > 0) lines.push('');
        lines.push((lines.pop() ?? '') + (style === undefined ? piece : style(piece)));
      });
    }
  }
  return lines;
}
