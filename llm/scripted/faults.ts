// The scripted server's errors: what each fault looks like on the wire, in the words of real providers.

import type { ScriptedError, ScriptedFault } from './script.ts';

/** The HTTP error of a fault; undefined when the fault happens inside the stream. */
export function httpErrorOf(fault: ScriptedFault, key: string): ScriptedError | undefined {
  switch (fault) {
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

function error(
  status: number,
  anthropicType: string,
  openaiType: string,
  openaiCode: string | null,
  message: string,
): ScriptedError {
  return { status, anthropicType, openaiType, openaiCode, message };
}
