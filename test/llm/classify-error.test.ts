// The table from what an SDK throws to a Failure, on errors in the shape of both SDKs.

import { describe, expect, test } from '@jest/globals';
import { classifyError, scrubKeys, withoutMarkup } from '../../llm/classify-error.ts';

const headers = new Headers();
const classify = (error: unknown, streaming = false) =>
  classifyError(error, { provider: 'p', secrets: ['key-that-nobody-may-see'], streaming }).failure;

describe('classifyError', () => {
  test.each([
    [{ status: 401, headers }, 'failed', 'auth'],
    [{ status: 403, headers, error: { type: 'error', error: { type: 'permission_error' } } }, 'failed', 'auth'],
    [{ status: 402, headers, error: { error: { type: 'billing_error' } } }, 'failed', 'quota'],
    [{ status: 429, headers, code: 'insufficient_quota' }, 'failed', 'quota'],
    [{ status: 429, headers, type: 'tokens' }, 'transient', 'rate_limit'],
    [{ status: 404, headers, code: 'model_not_found' }, 'failed', 'unknown_model'],
    [{ status: 413, headers }, 'failed', 'context_too_long'],
    [{ status: 400, headers, code: 'context_length_exceeded', message: 'x' }, 'failed', 'context_too_long'],
    [
      {
        status: 400,
        headers,
        error: { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } },
      },
      'failed',
      'context_too_long',
    ],
    [
      { status: 400, headers, message: "400 This model's maximum context length is 8192 tokens" },
      'failed',
      'context_too_long',
    ],
    [{ status: 400, headers, type: 'invalid_request_error', message: '400 bad tool' }, 'failed', 'bad_request'],
    [{ status: 422, headers }, 'failed', 'bad_request'],
    [{ status: 400, headers, code: 'content_policy_violation' }, 'failed', 'refusal'],
    [{ status: 408, headers }, 'transient', 'server_error'],
    [{ status: 500, headers }, 'transient', 'server_error'],
    [{ status: 503, headers }, 'transient', 'overloaded'],
    [{ status: 529, headers, type: 'overloaded_error' }, 'transient', 'overloaded'],
    [{ headers, type: 'overloaded_error', message: 'Overloaded' }, 'transient', 'overloaded'],
    [{ headers, type: 'invalid_request_error', message: 'no' }, 'failed', 'bad_request'],
    [{ headers, code: 'rate_limit_exceeded', message: 'slow' }, 'transient', 'rate_limit'],
    [{ headers, message: 'something' }, 'transient', 'server_error'],
    [{ message: 'Connection error.', cause: { cause: { code: 'ENOTFOUND' } } }, 'transient', 'network'],
    [{ message: 'x', cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }, 'transient', 'stalled_stream'],
    ['a string', 'transient', 'network'],
    [{ headers, code: 429, message: 'upstream' }, 'transient', 'rate_limit'],
    [{ headers, error: { code: 502, message: 'upstream' } }, 'transient', 'server_error'],
    [{ status: 413, headers, message: '413 <html><title>Too Large</title></html>' }, 'failed', 'context_too_long'],
  ])('E9: %j is %s, %s', (error, kind, code) => {
    expect(classify(error)).toMatchObject({ kind, code });
  });

  test('a broken line is a network failure before the answer began, and a cut stream after', () => {
    expect(classify(new TypeError('terminated')).code).toBe('network');
    expect(classify(new TypeError('terminated'), true).code).toBe('cut_stream');
  });

  test('retry-after-ms wins over Retry-After, and neither is kept on a failure that no wait can cure', () => {
    const both = new Headers({ 'retry-after-ms': '1500', 'retry-after': '9' });
    expect(classify({ status: 429, headers: both }).retryAfterMs).toBe(1500);
    expect(classify({ status: 401, headers: both }).retryAfterMs).toBeUndefined();
  });

  test('E9: a Retry-After date is held against the server’s own clock, which ours may differ from', () => {
    const date = 'Sat, 01 Jan 2022 00:00:00 GMT';
    const own = new Headers({ date, 'retry-after': 'Sat, 01 Jan 2022 00:00:30 GMT' });
    expect(classify({ status: 429, headers: own }).retryAfterMs).toBe(30_000);
    expect(classify({ status: 429, headers: new Headers({ 'retry-after': date }) }).retryAfterMs).toBe(0);
  });

  test('of a page of HTML its title is told, or its words', () => {
    expect(withoutMarkup('502 <!DOCTYPE html><html><head><title> Bad\n Gateway </title></head>')).toBe(
      '502 a page of HTML, “Bad Gateway”.',
    );
    expect(withoutMarkup('<html><style>p{}</style><body><h1>Sign in</h1><p>please</p>')).toBe(
      'a page of HTML, “Sign in please”.',
    );
    expect(withoutMarkup('a < b')).toBe('a < b.');
  });

  test('no key gets into a message, whatever its form', () => {
    const said = 'key-that-nobody-may-see, Bearer abc.def, sk-ant-abcdefgh, http://user:pass@host/';
    const { message } = classify({ status: 400, headers, message: said });
    for (const secret of ['key-that', 'abc.def', 'abcdefgh', 'user:pass']) expect(message).not.toContain(secret);
    expect(scrubKeys('nothing to hide: sketch', [])).toBe('nothing to hide: sketch');
  });
});
