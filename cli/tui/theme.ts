// Colours by what they mean. Only the terminal's own sixteen are used, so they fit whatever background the person has chosen; on a light
// one those that would fade are exchanged. NO_COLOR leaves weight alone.

import type { EditorTheme, MarkdownTheme, SelectListTheme } from '@earendil-works/pi-tui';

export const THEME_NAMES = ['dark', 'light', 'plain'] as const;
export type ThemeName = (typeof THEME_NAMES)[number];
export type Style = (text: string) => string;

export interface Theme {
  readonly name: ThemeName;
  readonly accent: Style;
  readonly dim: Style;
  readonly good: Style;
  readonly warn: Style;
  readonly bad: Style;
  readonly bold: Style;
  readonly code: Style;
  /** By highlight.js's classes, the first part of the name. */
  readonly syntax: Readonly<Record<string, Style>>;
}

const sgr =
  (open: number, close: number): Style =>
  (text) =>
    text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`;
const colour = (code: number) => sgr(code, 39);
const asIs: Style = (text) => text;
const bold = sgr(1, 22);

export function themeNamed(name: ThemeName): Theme {
  if (name === 'plain') {
    return {
      name,
      accent: asIs,
      dim: asIs,
      good: asIs,
      warn: asIs,
      bad: asIs,
      bold: asIs,
      code: asIs,
      syntax: {},
    };
  }
  const isLight = name === 'light';
  const accent = colour(isLight ? 34 : 36);
  const warn = colour(isLight ? 35 : 33);
  const dim = isLight ? colour(90) : sgr(2, 22);
  const word = colour(isLight ? 34 : 35);
  const name_ = colour(isLight ? 34 : 36);
  const text = colour(32);
  return {
    name,
    accent,
    dim,
    good: colour(32),
    warn,
    bad: colour(31),
    bold,
    code: accent,
    syntax: {
      keyword: word,
      built_in: name_,
      type: name_,
      literal: warn,
      number: warn,
      string: text,
      regexp: text,
      comment: dim,
      meta: dim,
      title: name_,
      attr: name_,
      attribute: name_,
      variable: asIs,
      addition: text,
      deletion: colour(31),
    },
  };
}

/** Before the terminal was asked for its background: what COLORFGBG says, else dark. */
export function startingTheme(env: NodeJS.ProcessEnv): ThemeName {
  if ((env['NO_COLOR'] ?? '') !== '') return 'plain';
  const background = Number(env['COLORFGBG']?.split(';').at(-1) ?? 'NaN');
  return background === 7 || background === 15 ? 'light' : 'dark';
}

export const isThemeName = (name: string): name is ThemeName => (THEME_NAMES as readonly string[]).includes(name);

export const selectTheme = (theme: Theme): SelectListTheme => ({
  selectedPrefix: theme.accent,
  selectedText: theme.accent,
  description: theme.dim,
  scrollInfo: theme.dim,
  noMatch: theme.dim,
});

export const editorTheme = (theme: Theme): EditorTheme => ({ borderColor: theme.dim, selectList: selectTheme(theme) });

export const markdownTheme = (
  theme: Theme,
  highlightCode: (code: string, language?: string) => string[],
): MarkdownTheme => {
  const plain = theme.name === 'plain';
  return {
    heading: (text) => theme.bold(theme.accent(text)),
    link: theme.accent,
    linkUrl: theme.dim,
    code: theme.code,
    codeBlock: asIs,
    codeBlockBorder: theme.dim,
    // What is wrapped would stand left of it.
    codeBlockIndent: '',
    quote: theme.dim,
    quoteBorder: theme.dim,
    hr: theme.dim,
    listBullet: theme.accent,
    bold: theme.bold,
    italic: plain ? asIs : sgr(3, 23),
    strikethrough: plain ? asIs : sgr(9, 29),
    underline: plain ? asIs : sgr(4, 24),
    highlightCode,
  };
};
