// Fetches one page (SAFETY 5): GET alone, no cookies, no credentials, redirects by hand with every hop through the same checks, every
// length and time limited. It returns bytes; making text of them is a thread's work.

import { type Dispatcher, fetch, type Response } from 'undici';
import { cancelled, fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { WebTarget } from '../../shared/web-port.ts';
import { contentKind, essenceOf } from './content-kind.ts';
import { statusFailure, thrownFailure } from './fetch-failure.ts';
import { type ConnectRules, isRefusedNumber, openSafeDispatcher } from './safe-dispatcher.ts';
import { parseWebUrl } from './web-url.ts';

export interface FetchLimits {
  readonly totalMs: number;
  readonly headersMs: number;
  readonly maxHeaderBytes: number;
  /** Counted after decompression, while it is read. */
  readonly maxBodyBytes: number;
  readonly maxRedirects: number;
}

export const FETCH_LIMITS: FetchLimits = {
  totalMs: 20_000,
  headersMs: 10_000,
  maxHeaderBytes: 16_384,
  maxBodyBytes: 5_000_000,
  maxRedirects: 5,
};

export interface FetchRules extends ConnectRules {
  readonly limits: FetchLimits;
}

export interface FetchedBytes {
  readonly kind: 'bytes';
  /** Where it was found. */
  readonly target: WebTarget;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Without parameters, lower case; empty when the server did not say. */
  readonly contentType: string;
  readonly charset: string | null;
}

export type Fetched = FetchedBytes | { readonly kind: 'elsewhere'; readonly target: WebTarget };

const HEADERS = {
  'user-agent': 'Odin-WebFetch/1.0',
  // Some sites have their documentation as Markdown for those who ask.
  accept: 'text/markdown,text/html;q=0.9,application/xhtml+xml;q=0.9,application/json;q=0.8,text/plain;q=0.8,*/*;q=0.1',
  'accept-language': 'en,*;q=0.5',
};

/** `mayGo` says whether a redirect may lead to another host. */
export async function fetchPage(
  given: WebTarget,
  mayGo: (host: string) => boolean,
  rules: FetchRules,
  signal: AbortSignal,
): Promise<Outcome<Fetched>> {
  const { limits } = rules;
  const dispatcher = openSafeDispatcher(rules, limits);
  const time = AbortSignal.timeout(limits.totalMs);
  const either = AbortSignal.any([signal, time]);
  let at = given;
  try {
    for (let hop = 0; hop <= limits.maxRedirects; hop++) {
      const judged = judgeUrl(at.url, rules);
      if (!judged.ok) return judged;
      at = judged.value;
      const response = await get(at, dispatcher, either);
      const location = response.headers.get('location');
      if (!isRedirect(response.status) || location === null) return await read(response, at, limits);
      await drop(response);
      const next = judgeUrl(location, rules, at.url);
      if (!next.ok) return redirectRefused(at, next);
      if (next.value.host !== at.host && !mayGo(next.value.host)) return ok({ kind: 'elsewhere', target: next.value });
      at = next.value;
    }
    return fail('failed', 'too_many_redirects', `${given.url} redirects more than ${limits.maxRedirects} times.`);
  } catch (error) {
    return signal.aborted ? cancelled() : thrownFailure(error, at, limits, time.aborted);
  } finally {
    await dispatcher.destroy();
  }
}

/** An address before anything is asked; each hop is judged anew. `base`: where a redirect came from. */
export function judgeUrl(url: string, rules: FetchRules, base?: string): Outcome<WebTarget> {
  const target = parseWebUrl(url, (port) => rules.allowsPort(port), base);
  if (!target.ok || !isRefusedNumber(target.value.host, rules)) return target;
  return notPublic(target.value.host);
}

const notPublic = (host: string): Outcome<never> =>
  fail(
    'refused',
    'address_refused',
    `${host} is not a public address. WebFetch reads the public web alone; what runs on this machine or its network is not for it.`,
  );

const get = (target: WebTarget, dispatcher: Dispatcher, signal: AbortSignal): Promise<Response> =>
  fetch(target.url, {
    method: 'GET',
    headers: HEADERS,
    redirect: 'manual',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
    dispatcher,
    signal,
  });

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

async function read(response: Response, target: WebTarget, limits: FetchLimits): Promise<Outcome<FetchedBytes>> {
  const type = response.headers.get('content-type') ?? '';
  const contentType = essenceOf(type);
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  const refusal = response.ok ? contentKind(contentType, target, length) : statusFailure(response.status, target);
  if (!refusal.ok) {
    await drop(response);
    return refusal;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > limits.maxBodyBytes) return tooLong(target, limits);
    chunks.push(chunk);
  }
  const charset = /;\s*charset=\s*"?([^\s";]{1,40})/i.exec(type)?.[1] ?? null;
  return ok({ kind: 'bytes', target, bytes: joined(chunks, size), contentType, charset });
}

const drop = async (response: Response): Promise<void> => response.body?.cancel().catch(() => {});

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

const tooLong = ({ url }: WebTarget, { maxBodyBytes }: FetchLimits): Outcome<never> =>
  fail(
    'failed',
    'too_long',
    `${url} holds more than ${maxBodyBytes / 1_000_000} MB and was not read. Look for a page about the part you need.`,
  );

function redirectRefused(from: WebTarget, { failure }: Extract<Outcome<never>, { ok: false }>): Outcome<never> {
  return {
    ok: false,
    failure: { ...failure, message: `${from.url} redirects to where WebFetch does not go: ${failure.message}` },
  };
}
