// What went wrong with a fetch, in words that say what to do. Errors are told apart by their codes, never by their text.

import { fail, type Outcome } from '../../shared/outcome.ts';
import type { WebTarget } from '../../shared/web-port.ts';
import type { FetchLimits } from './fetch-page.ts';

const STATUS: Readonly<Record<number, string | undefined>> = {
  401: 'The page wants a login, which WebFetch has not. Look for a public page.',
  402: 'The page is for paying readers. Look for a public page.',
  403: 'The server refuses such readers. Look for the same text elsewhere.',
  404: 'There is no such page. Check the address, or begin at the front page of the site.',
  410: 'The page is gone. Look for what replaced it.',
  429: 'The server has been asked too often. Use what is known, or try again later.',
  451: 'The page may not be shown. Look for the same text elsewhere.',
};

/** An answer that is no page. */
export function statusFailure(status: number, { url }: WebTarget): Outcome<never> {
  const advice =
    STATUS[status] ?? (status >= 500 ? 'The server is in trouble: try once more, then look elsewhere.' : '');
  return fail('failed', `http_${status}`, `${url} answers ${status}. ${advice}`.trimEnd());
}

/** What fetch threw. `timeUp`: the limit for the whole page was reached. */
export function thrownFailure(error: unknown, target: WebTarget, limits: FetchLimits, timeUp: boolean): Outcome<never> {
  const { url, host } = target;
  if (timeUp) {
    return fail(
      'failed',
      'time_limit',
      `${url} was not there within ${limits.totalMs / 1000} seconds. Look elsewhere.`,
    );
  }
  const code = codeOf(error);
  const [name, message] = THROWN[code] ?? [
    'fetch_failed',
    code.startsWith('ERR_TLS') || code.includes('CERT') || code.startsWith('ERR_SSL')
      ? 'its certificate is not valid for this host'
      : `the connection failed${code === '' ? '' : ` (${code})`}`,
  ];
  if (name === 'address_refused') {
    return fail('refused', name, `${host} ${message}. WebFetch reads the public web alone.`);
  }
  return fail('failed', name, `${url} could not be read: ${message}.`);
}

const THROWN: Readonly<Record<string, readonly [code: string, message: string] | undefined>> = {
  ODIN_ADDRESS_REFUSED: ['address_refused', 'stands for an address that is not public'],
  ENOTFOUND: ['no_such_host', 'there is no host of this name, or this machine has no network. Check the spelling'],
  EAI_AGAIN: ['no_such_host', 'the name could not be looked up; this machine may have no network'],
  ECONNREFUSED: ['no_connection', 'nothing answers there'],
  ECONNRESET: ['cut', 'the server cut the connection'],
  UND_ERR_SOCKET: ['cut', 'the server cut the connection'],
  UND_ERR_CONNECT_TIMEOUT: ['no_connection', 'no connection came about in time'],
  ETIMEDOUT: ['no_connection', 'no connection came about in time'],
  UND_ERR_HEADERS_TIMEOUT: ['slow', 'the server does not begin to answer'],
  UND_ERR_BODY_TIMEOUT: ['slow', 'the server stopped in the middle'],
  UND_ERR_HEADERS_OVERFLOW: ['bad_answer', 'its headers are too long'],
  HPE_HEADER_OVERFLOW: ['bad_answer', 'its headers are too long'],
};

/** The first code on the way down the causes. */
function codeOf(error: unknown): string {
  let at: unknown = error;
  for (let depth = 0; depth < 8 && typeof at === 'object' && at !== null; depth++) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: readonly unknown[] };
    if (typeof code === 'string') return code;
    at = cause ?? errors?.[0];
  }
  return '';
}
