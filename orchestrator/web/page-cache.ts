// Pages that were read a short while ago, so that a second question about one does not fetch it again. Least recently used go first.

import type { WebPage } from '../../shared/web-port.ts';

const KEEP_MS = 15 * 60_000;
const MAX_CHARS = 8_000_000;

export interface PageCache {
  get(url: string): WebPage | undefined;
  set(url: string, page: WebPage): void;
}

export function createPageCache(now: () => number): PageCache {
  const pages = new Map<string, { readonly page: WebPage; readonly until: number }>();
  let chars = 0;
  const drop = (url: string) => {
    chars -= pages.get(url)?.page.text.length ?? 0;
    pages.delete(url);
  };
  return {
    get(url) {
      const kept = pages.get(url);
      if (!kept) return undefined;
      if (kept.until <= now()) return drop(url) as undefined;
      pages.delete(url);
      pages.set(url, kept);
      return kept.page;
    },
    set(url, page) {
      drop(url);
      pages.set(url, { page, until: now() + KEEP_MS });
      chars += page.text.length;
      for (const oldest of pages.keys()) {
        if (chars <= MAX_CHARS) return;
        drop(oldest);
      }
    },
  };
}
