// The scripted server's errors: what each fault looks like on the wire, in the words of real providers.

import type { ScriptedError, ScriptedFault } from './script.ts';

/** The HTTP error of a fault; undefined when the fault happens inside the stream. */
export function httpErrorOf(fault: ScriptedFault, key: string): ScriptedError | undefined {
  switch (fault) {
    case 'http_400':
      return error(400, 'invalid_request_error', 'invalid_request_error', null, 'messages.0: unexpected value.');
    case 'http_402':
      return error(402, 'billing_error', 'insufficient_quota', 'insufficient_quota', 'Your credit balance is too low.');
    case 'http_404':
      return error(404, 'not_found_error', 'invalid_request_error', 'model_not_found', 'There is no such model.');
    case 'http_408':
      return error(408, 'timeout_error', 'timeout', null, 'Request timed out.');
    case 'http_409':
      return error(409, 'api_error', 'conflict', null, 'Conflict.');
    case 'http_413':
      return error(413, 'request_too_large', 'invalid_request_error', null, 'Request exceeds the maximum size.');
    case 'http_422':
      return error(422, 'invalid_request_error', 'invalid_request_error', null, 'Unprocessable entity.');
    case 'http_503':
      return error(503, 'api_error', 'server_error', null, 'Service unavailable.');
    case 'http_429':
      return error(429, 'rate_limit_error', 'requests', 'rate_limit_exceeded', 'Rate limit reached.');
    case 'http_529':
      return error(529, 'overloaded_error', 'server_error', null, 'Overloaded.');
    case 'http_500':
      return error(500, 'api_error', 'server_error', null, 'Internal server error.');
    case 'http_401':
      // Some servers repeat the key that they refuse.
      return error(
        401,
        'authentication_error',
        'invalid_request_error',
        'invalid_api_key',
        `Incorrect API key provided: ${key}.`,
      );
    case 'http_400_context':
      return error(
        400,
        'invalid_request_error',
        'invalid_request_error',
        'context_length_exceeded',
        'prompt is too long: 1200000 tokens > 1000000 maximum',
      );
    default:
      return undefined;
  }
}

export const OVERLOADED_EVENT: ScriptedError = error(
  529,
  'overloaded_error',
  'server_error',
  'server_error',
  'Overloaded.',
);

export const TOO_LONG_EVENT: ScriptedError = error(
  400,
  'invalid_request_error',
  'invalid_request_error',
  'context_length_exceeded',
  'This model has a maximum context length of 8192 tokens.',
);

/** What a proxy in between shows. */
export const PROXY_PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title><style>h1{color:red}</style></head><body><h1>502 Bad Gateway</h1></body></html>\n';

function error(
  status: number,
  anthropicType: string,
  openaiType: string,
  openaiCode: string | null,
  message: string,
): ScriptedError {
  return { status, anthropicType, openaiType, openaiCode, message };
}
