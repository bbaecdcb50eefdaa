// What an operation came to, as plain data: errors thrown in a thread lose their class and code on the way out,
// and an Error in a machine's context persists as {}. So what can fail returns an Outcome; only bugs are thrown.

import type { Json } from './json.ts';

/**
 * Who acts on a failure: `invalid` the model corrects its arguments, `refused` the model sees the reason,
 * `failed` the model sees the output, `transient` the machine retries, `cancelled` nobody.
 */
export type FailureKind = 'invalid' | 'refused' | 'failed' | 'transient' | 'cancelled';

export interface Failure {
  readonly kind: FailureKind;
  /** Stable, snake_case, for programs: `not_found`, `rate_limit`, `stalled_stream`. */
  readonly code: string;
  /** One or a few sentences for a person or the model: what is wrong and what to do. */
  readonly message: string;
  /** The other side's own wish, as in HTTP's Retry-After. */
  readonly retryAfterMs?: number;
  readonly details?: Json;
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

export function ok<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function fail(
  kind: FailureKind,
  code: string,
  message: string,
  more: Pick<Failure, 'retryAfterMs' | 'details'> = {},
): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: { kind, code, message, ...more } };
}

export const cancelled = (message = 'Cancelled.') => fail('cancelled', 'cancelled', message);

/** A broken invariant of Odin's own. Ends the run; never shown to the model as a result. */
export class Bug extends Error {
  override readonly name = 'Bug';
}

/** A refusal that the command line prints as one line and turns into an exit code: not a bug, not a stack trace. */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly exitCode: number;
  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}
