// Takes secrets out of text before it is journaled, logged, shown elsewhere or sent to a model (SAFETY 6).

import { Bug } from './outcome.ts';

const PATTERNS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['private-key', /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g],
  ['api-key', /\bsk-[A-Za-z0-9_-]{20,}/g],
  ['github-token', /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})/g],
  ['aws-key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ['slack-token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g],
  ['google-key', /\bAIza[A-Za-z0-9_-]{35}/g],
  ['jwt', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g],
  ['bearer', /(?<=\bBearer )[A-Za-z0-9._~+/=-]{20,}/g],
  ['url-password', /(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]{0,64}:)[^\s/@]{3,}(?=@)/g],
];

/** One test that is false for almost all text, so that the exact patterns run only where they may find something. */
const MAY_HOLD = /PRIVATE KEY|sk-|gh[pousr]_|github_pat_|AKIA|ASIA|xox|AIza|eyJ|Bearer |:\/\/[^\s/@]*:/;

/** Names of environment variables whose values are secrets. */
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;
const MIN_SECRET_LENGTH = 12;

/** Secrets that came into this process by another way than its environment: keys of `odin login`. */
const learned = new Set<string>();

/** From here on every scrubber of this process takes this text out. */
export function learnSecret(secret: string): void {
  if (secret.length >= MIN_SECRET_LENGTH) learned.add(secret);
}

export type Scrub = (text: string) => string;

/** A scrubber that knows the well-known forms of secrets and the values of this environment's own. */
export function createScrub(env: Readonly<Record<string, string | undefined>>): Scrub {
  const own = Object.entries(env)
    .flatMap(([name, value]) => (SECRET_NAME.test(name) && value && value.length >= MIN_SECRET_LENGTH ? [value] : []))
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of own) if (clean.includes(secret)) clean = clean.replaceAll(secret, '[redacted:env]');
    for (const secret of learned) if (clean.includes(secret)) clean = clean.replaceAll(secret, '[redacted:stored-key]');
    if (!MAY_HOLD.test(clean)) return clean;
    for (const [name, pattern] of PATTERNS) clean = clean.replace(pattern, `[redacted:${name}]`);
    return clean;
  };
}

/** The same for every string inside a JSON value. */
export function scrubJson<T>(value: T, scrub: Scrub, depth = 0): T {
  if (depth > 100) throw new Bug('A value to be scrubbed is nested too deeply.');
  if (typeof value === 'string') return scrub(value) as T;
  if (Array.isArray(value)) return value.map((item) => scrubJson(item, scrub, depth + 1)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scrubJson(item, scrub, depth + 1)])) as T;
}
