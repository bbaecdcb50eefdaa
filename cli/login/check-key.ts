// Whether a key is one, and whether its server takes it: the server's own list of models says so, and is what the user chooses from.

import type { Config } from '../../orchestrator/config.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';

export interface KeyToCheck {
  readonly provider: string;
  /** Absent: the server wants none. */
  readonly key?: string | undefined;
  readonly baseURL?: string | undefined;
}

/** The text that was pasted, as a key; empty text is none. */
export function keyOf(text: string): Outcome<string | undefined> {
  const key = text.trim();
  if (key === '') return ok(undefined);
  if (/^[\x21-\x7e]{8,4096}$/.test(key) && !/["'`=]\s*$|^["'`]|^\w+=/.test(key)) return ok(key);
  return fail(
    'invalid',
    'no_key',
    'That is not a key: it is one word of letters, digits and signs, without quotes and without its name before it. Paste the key alone.',
  );
}

/** A base URL as it is stored. */
export function baseUrlOf(text: string): Outcome<string> {
  const url = text.trim().replace(/\/+$/, '');
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '') return ok(url);
  return fail(
    'invalid',
    'no_url',
    `"${cleanLine(url, 100)}" is no address of a server. Write it as in http://127.0.0.1:8080/v1, without a name or password in it.`,
  );
}

/** Asks the server for its models with this key, and with nothing of the environment. */
export async function checkKey(
  { provider: name, key, baseURL }: KeyToCheck,
  config: Pick<Config, 'providers'>,
  signal: AbortSignal,
): Promise<Outcome<readonly string[]>> {
  const { openProvider, OPENROUTER_URL, providerNamed } = await import('../../llm/known-providers.ts');
  const server = baseURL ?? config.providers[name]?.baseURL;
  const kept = { ...(key === undefined ? {} : { key }), ...(server === undefined ? {} : { baseURL: server }), at: 0 };
  const provider = providerNamed(name, {}, config.providers, { [name]: kept });
  if (provider === undefined || provider.missingKey !== undefined) {
    return fail(
      'invalid',
      'no_key',
      `${name} cannot be used without a ${provider === undefined ? 'base URL' : 'key'}.`,
    );
  }
  if (name === 'openrouter' && key !== undefined) {
    // Its list is for everybody.
    const refused = await refusedByOpenrouter(server ?? OPENROUTER_URL, key, signal);
    if (refused !== null) return fail('failed', 'auth', refused);
  }
  return await (await openProvider(provider)).listModels(signal);
}

async function refusedByOpenrouter(baseURL: string, key: string, signal: AbortSignal): Promise<string | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  try {
    const { status } = await fetch(`${baseURL}/key`, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: limit,
    });
    return status === 401 || status === 403 ? 'openrouter does not know this key.' : null;
  } catch {
    // The list that is asked for next says what is wrong.
    return null;
  }
}

const LIMIT_MS = 15_000;
