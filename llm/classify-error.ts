// Turns what an SDK throws into a Failure (codes: shared/ports.ts). Reads status, type and code, which both SDKs carry
// under the same names, so that this file needs neither SDK. Words are matched for two cases only: a prompt that is too
// long, which several servers say in words alone, and a redirect, which fetch says in words alone. Keys never get out.

import { type Failure, type FailureKind, fail } from '../shared/outcome.ts';

export interface ErrorContext {
  readonly provider: string;
  readonly secrets: readonly string[];
  /** Whether the answer had begun: a broken line then is a cut stream. */
  readonly streaming: boolean;
}

interface ProviderError {
  readonly status: number | undefined;
  readonly words: readonly string[];
  readonly message: string;
  readonly causes: readonly string[];
  readonly headers: Headers | undefined;
  readonly fromServer: boolean;
}

type Verdict = readonly [kind: FailureKind, code: string, advice: string];

const VERDICTS = {
  auth: ['failed', 'auth', 'Check the key that is set for it.'],
  quota: ['failed', 'quota', "The account's credit or spending limit is used up: raise it, or choose another model."],
  bad_request: ['failed', 'bad_request', 'The request was not accepted as it is.'],
  context_too_long: ['failed', 'context_too_long', "The conversation no longer fits the model's context window."],
  redirected: [
    'failed',
    'bad_response',
    'Its address redirects to another one, and Odin sends keys and conversations nowhere but to the one that is set: set that other one as its base URL.',
  ],
  unknown_model: ['failed', 'unknown_model', 'Check the name of the model and the base URL.'],
  refusal: ['failed', 'refusal', "The provider's policy refused this request."],
  rate_limit: ['transient', 'rate_limit', 'Too many requests or tokens at once.'],
  overloaded: ['transient', 'overloaded', 'The provider is overloaded.'],
  server_error: ['transient', 'server_error', 'The provider failed.'],
  network: ['transient', 'network', 'Is the server running, and the network up?'],
  stalled_stream: ['transient', 'stalled_stream', 'The line went silent.'],
  cut_stream: ['transient', 'cut_stream', 'The answer broke off or was garbled.'],
} as const satisfies Record<string, Verdict>;

/** `type` and `code` in the providers' error bodies, where they say more than the status does. */
const BY_WORD: Readonly<Record<string, keyof typeof VERDICTS>> = {
  context_length_exceeded: 'context_too_long',
  exceed_context_size_error: 'context_too_long',
  request_too_large: 'context_too_long',
  insufficient_quota: 'quota',
  billing_error: 'quota',
  billing_hard_limit_reached: 'quota',
  enforced_spend_limit_reached: 'quota',
  contract_spend_limit_reached: 'quota',
  authentication_error: 'auth',
  permission_error: 'auth',
  invalid_api_key: 'auth',
  model_not_found: 'unknown_model',
  not_found_error: 'unknown_model',
  content_policy_violation: 'refusal',
  content_filter: 'refusal',
  bio_policy: 'refusal',
  misalignment_policy_violation: 'refusal',
  rate_limit_error: 'rate_limit',
  rate_limit_exceeded: 'rate_limit',
  overloaded_error: 'overloaded',
};

const TOO_LONG =
  /prompt is too long|input is too long|context (?:length|window|size)|maximum context|too many (?:input )?tokens|exceeds? .{0,40}(?:context|token limit)/i;

/** Whatever an SDK or fetch threw, as a Failure that says what happened and what to do. */
export function classifyError(
  error: unknown,
  context: ErrorContext,
): { readonly ok: false; readonly failure: Failure } {
  const seen = read(error);
  const [kind, code, advice] = VERDICTS[verdictOf(seen, context.streaming)];
  const status = seen.status === undefined ? '' : ` (HTTP ${seen.status})`;
  const causes = seen.causes.length === 0 ? '' : ` [${seen.causes.join(', ')}]`;
  const said = scrubKeys(`${seen.message}${causes}`, context.secrets).slice(0, 600);
  const retryAfterMs = kind === 'transient' ? retryAfter(seen.headers) : undefined;
  return fail(
    kind,
    code,
    `${context.provider}${status}: ${said} ${advice}`,
    retryAfterMs === undefined ? {} : { retryAfterMs },
  );
}

function verdictOf(error: ProviderError, streaming: boolean): keyof typeof VERDICTS {
  const { status } = error;
  for (const word of error.words) {
    const verdict = BY_WORD[word];
    if (verdict !== undefined) return verdict;
  }
  if (error.fromServer && (status === undefined || status === 400 || status === 422 || status === 500)) {
    if (TOO_LONG.test(error.message)) return 'context_too_long';
  }
  if (status === undefined) return withoutStatus(error, streaming);
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'quota';
  if (status === 404) return 'unknown_model';
  if (status === 413) return 'context_too_long';
  if (status === 429) return 'rate_limit';
  if (status === 503 || status === 529) return 'overloaded';
  if (status >= 500 || status === 408 || status === 409) return 'server_error';
  return 'bad_request';
}

function withoutStatus(error: ProviderError, streaming: boolean): keyof typeof VERDICTS {
  // In HTTP errors these words stand beside all sorts of statuses; alone in a stream they mean what they say.
  if (error.words.some((word) => word === 'invalid_request_error' || word === 'invalid_prompt')) return 'bad_request';
  if (error.fromServer) return 'server_error';
  if (error.causes.includes(REDIRECT)) return 'redirected';
  if (error.causes.some((cause) => cause === 'UND_ERR_BODY_TIMEOUT' || cause === 'UND_ERR_HEADERS_TIMEOUT')) {
    return 'stalled_stream';
  }
  return streaming ? 'cut_stream' : 'network';
}

function read(error: unknown): ProviderError {
  const top = asRecord(error);
  const body = asRecord(top['error']);
  const inner = asRecord(body['error']);
  const words = [top['errorCode'], top['code'], inner['code'], body['code'], top['type'], inner['type'], body['type']];
  const message = firstText(inner['message'], body['message'], top['message']) ?? String(error);
  const numbers = [top['status'], ...words];
  return {
    // Inside a stream, some servers give an HTTP status as the code.
    status: numbers.find((value) => typeof value === 'number' && value >= 400 && value < 600) as number | undefined,
    words: words.filter((word) => typeof word === 'string'),
    message: withoutMarkup(message),
    causes: causeCodes(top['cause']),
    headers: top['headers'] instanceof Headers ? top['headers'] : undefined,
    fromServer: top['headers'] instanceof Headers,
  };
}

/** A text as one sentence; of a page of HTML its title, or what it says. */
export function withoutMarkup(text: string): string {
  const start = text.search(/<(?:!doctype|html|head|body)\b/i);
  if (start < 0) return text.trim().replace(/([^.!?])$/, '$1.');
  const page = text.slice(start);
  const title = /<title[^>]*>([^<]*)/i.exec(page)?.[1]?.trim();
  const words = title || page.replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');
  return `${text.slice(0, start).trim()} a page of HTML, “${words.replace(/\s+/g, ' ').trim().slice(0, 120)}”.`.trim();
}

/** What fetch calls it, which gives it no code. */
const REDIRECT = 'unexpected redirect';

/** `fetch failed` says nothing; the code of the error below it does. */
function causeCodes(cause: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = asRecord(cause), depth = 0; depth < 5; at = asRecord(at['cause']), depth += 1) {
    if (typeof at['code'] === 'string') codes.push(at['code']);
    if (at['message'] === REDIRECT) codes.push(REDIRECT);
  }
  return codes;
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (ms >= 0) return Math.ceil(ms);
  const value = headers?.get('retry-after') ?? '';
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Math.ceil(Number.parseFloat(value) * 1000);
  // By the server's clock where it tells it: ours may be wrong.
  const at = Date.parse(value);
  const now = Date.parse(headers?.get('date') ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/** Takes the keys out of a text: those that are known, and whatever looks like one. */
export function scrubKeys(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, '[key]');
  return clean
    .replace(/\bBearer\s+[^\s"',]+/gi, 'Bearer [key]')
    .replace(/\b(?:sk|pk|rk)-[\w*.-]{6,}/g, '[key]')
    .replace(/(:\/\/)[^/\s:@]+:[^/\s@]+@/g, '$1[key]@');
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
