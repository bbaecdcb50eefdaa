// Reading the web as WebFetch sees it (SPEC O20, SAFETY 5). The orchestrator owns addresses, limits, redirects, conversion and what a
// session may reach; whether a page may be fetched was decided before, by the tool and the user.

import type { Outcome } from './outcome.ts';

/** An address that may be asked for: what is fetched, and the host that the user is asked about. */
export interface WebTarget {
  /** As it is fetched: normalised, without a fragment, a file on GitHub as its raw text. */
  readonly url: string;
  /** Lower case, punycode, without a trailing dot. */
  readonly host: string;
}

/** What came back, as a thread has made text of it. */
export interface WebDocument {
  readonly format: 'markdown' | 'json' | 'text';
  /** Empty when it has none. */
  readonly title: string;
  readonly text: string;
  /** Addresses that the text links to, without fragments. */
  readonly links: readonly string[];
  /** What is missing or was changed, one line each. */
  readonly notes: readonly string[];
}

export interface WebPage extends WebDocument {
  /** Where it was found, after redirects. */
  readonly url: string;
  /** As received, decompressed. */
  readonly bytes: number;
}

/** `elsewhere`: a redirect to a host that nobody has allowed; it was not followed. */
export type WebAnswer =
  | { readonly kind: 'page'; readonly page: WebPage }
  | { readonly kind: 'elsewhere'; readonly target: WebTarget };

/** One session's view of the web. */
export interface WebPort {
  /** Judges an address as the model wrote it; a failure says what to do instead. Asks nobody, not even for its number. */
  target(url: string): Promise<Outcome<WebTarget>>;
  /** Whether the address stood in a message of the user, or on a page that this session has read. */
  knows(url: string): boolean;
  /** Fetches a target and makes text of it; `report` hears what goes on. */
  fetch(target: WebTarget, signal: AbortSignal, report: (line: string) => void): Promise<Outcome<WebAnswer>>;
}
