// Text of models, tools, files and repositories on its way to the page: secrets are taken out once more, and what is invisible or turns
// the reading order is made visible (SAFETY 4, 6). The page itself never makes markup of text.

import { cleanText } from '../shared/clean-text.ts';
import { createScrub } from '../shared/scrub.ts';

/** The same for every string inside a JSON value, names included: a tool's arguments are the model's own. */
export type ShowSafely = <T>(value: T) => T;

export function createShowSafely(env: Readonly<Record<string, string | undefined>>): ShowSafely {
  const scrub = createScrub(env);
  const text = (value: string): string => cleanText(scrub(value));
  const show = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(show);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [text(name), show(item)]));
  };
  return <T>(value: T) => show(value) as T;
}
