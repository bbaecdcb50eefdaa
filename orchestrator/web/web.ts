// The WebPort of shared/web-port.ts (SPEC O20): what a session may reach and has seen, the pages of the last quarter of an hour, and
// the way of a page from the network through a thread to text. Nothing of it is loaded before the first page.

import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { coversHost } from '../../shared/web-host.ts';
import type { WebAnswer, WebPage, WebPort, WebTarget } from '../../shared/web-port.ts';
import type { HeavyPool } from '../pool.ts';
import type { FetchedBytes, FetchRules } from './fetch-page.ts';
import { createPageCache } from './page-cache.ts';
import { parseWebUrl } from './web-url.ts';

/** What a session brings along; read at each call. */
export interface WebSession {
  readonly sid: string;
  /** Hosts that the user has allowed for the session; null: all, because the user's settings say so. */
  allowedHosts(): readonly string[] | null;
  /** Messages of the user. */
  userTexts(): readonly string[];
}

export interface Web {
  portFor(session: WebSession): WebPort;
  close(): Promise<void>;
}

export interface WebDeps {
  openPool(): HeavyPool;
  /** What may be dialled: the public web when absent. A test's own server is reached by rules of the test, and by nothing else. */
  readonly rules?: FetchRules;
  readonly now?: () => number;
  /** Whether a text holds a secret that Odin knows: such an address is never asked for. */
  holdsSecret?(text: string): boolean;
}

const MAX_SESSIONS = 100;
const MAX_LINKS = 20_000;

export function openWeb({ openPool, rules, now = Date.now, holdsSecret = () => false }: WebDeps): Web {
  const cache = createPageCache(now);
  /** Links of the pages that a session has read, oldest first. */
  const seen = new Map<string, Set<string>>();
  let pool: HeavyPool | undefined;

  const rulesNow = async (): Promise<FetchRules> => rules ?? (await import('./public-rules.ts')).PUBLIC_RULES;

  const noteLinks = (sid: string, page: WebPage) => {
    const links = seen.get(sid) ?? new Set();
    for (const link of [page.url, ...page.links]) links.add(targetUrl(link));
    for (const oldest of links) {
      if (links.size <= MAX_LINKS) break;
      links.delete(oldest);
    }
    seen.delete(sid);
    seen.set(sid, links);
    for (const oldest of seen.keys()) if (seen.size > MAX_SESSIONS) seen.delete(oldest);
  };

  const convert = async (fetched: FetchedBytes, signal: AbortSignal): Promise<Outcome<WebPage>> => {
    const { bytes, contentType, charset, target } = fetched;
    pool ??= openPool();
    const outcome = await pool.run('page', { bytes, contentType, charset, url: target.url }, signal);
    if (outcome.ok) return ok({ ...outcome.value, url: target.url, bytes: bytes.byteLength });
    const { code } = outcome.failure;
    if (code !== 'thread_time' && code !== 'thread_memory') return outcome;
    const what = code === 'thread_time' ? 'time' : 'memory';
    return fail(
      'failed',
      'too_heavy',
      `${target.url} takes too much ${what} to read. Look for the same text on another page.`,
    );
  };

  const read = async (
    target: WebTarget,
    mayGo: (host: string) => boolean,
    signal: AbortSignal,
    report: (line: string) => void,
  ): Promise<Outcome<WebAnswer>> => {
    const cached = cache.get(target.url);
    if (cached) return ok({ kind: 'page', page: cached });
    const { fetchPage } = await import('./fetch-page.ts');
    report(`Fetching ${target.url}`);
    const fetched = await fetchPage(target, mayGo, await rulesNow(), signal);
    if (!fetched.ok || fetched.value.kind === 'elsewhere') return fetched as Outcome<WebAnswer>;
    report(`Reading ${Math.ceil(fetched.value.bytes.byteLength / 1_000)} KB`);
    const page = await convert(fetched.value, signal);
    if (!page.ok) return page;
    // Only under the address it has: where a redirect leads is asked anew, since another session may not go there.
    if (page.value.url === target.url) cache.set(target.url, page.value);
    return ok({ kind: 'page', page: page.value });
  };

  return {
    portFor: (session) => ({
      async target(url) {
        const [{ judgeUrl }, here] = await Promise.all([import('./fetch-page.ts'), rulesNow()]);
        const target = judgeUrl(url, here);
        return target.ok && [target.value.url, decoded(target.value.url)].some(holdsSecret) ? SECRET : target;
      },
      knows: (url) => seen.get(session.sid)?.has(url) === true || session.userTexts().some((text) => names(text, url)),
      async fetch(target, signal, report) {
        const allowed = session.allowedHosts();
        const mayGo = (host: string) =>
          allowed === null || [target.host, ...allowed].some((known) => coversHost(known, host));
        const answer = await read(target, mayGo, signal, report);
        if (answer.ok && answer.value.kind === 'page') noteLinks(session.sid, answer.value.page);
        return answer;
      },
    }),
    async close() {
      await pool?.close();
    },
  };
}

const SECRET = fail(
  'refused',
  'holds_secret',
  'The address holds what looks like a key or a password. Ask for it without; WebFetch never logs in.',
);

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** Whether a text names the address, fragments and the marks behind it aside. */
function names(text: string, url: string): boolean {
  const written = text.match(/https?:\/\/[^\s<>"'`]+/gi) ?? [];
  return written.some((one) => targetUrl(one.replace(/[.,;:!?)\]}]+$/, '')) === url || targetUrl(one) === url);
}

/** What would be fetched for an address; itself when nothing would. */
function targetUrl(url: string): string {
  const target = parseWebUrl(url, () => true);
  return target.ok ? target.value.url : url;
}
