// How a provider is reached. The key stays inside the provider object; nothing here is ever journaled or shown.

export interface ProviderOptions {
  /** As in `name/model`; used in messages. */
  readonly name: string;
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the line may stay silent. Node's own fetch gives up after 300 s, so more than that has no effect. */
  readonly idleTimeoutMs?: number;
  /** How long it may be kept open without a word of the answer: pings show that the line is alive, not that anybody works on it. */
  readonly quietTimeoutMs?: number;
}

export const DEFAULT_IDLE_TIMEOUT_MS = 120_000;

/** The default of quietTimeoutMs, in idle times. */
export const QUIET_FACTOR = 5;

/** A listing of models is one short answer: it gets a plain time limit. */
export const LIST_TIMEOUT_MS = 15_000;

/** What must never appear in an error message. */
export function secretsOf(options: ProviderOptions): readonly string[] {
  return [options.apiKey ?? '', ...Object.values(options.headers ?? {})].filter((value) => value.length >= 6);
}

/** The SDKs print bad events and retries to the console by default, which would tear the terminal's screen. */
export const SILENT_LOGGER = { error() {}, warn() {}, info() {}, debug() {} };
