// Whether an address could carry something out (SAFETY 5, exfiltration): once text from outside is in the session, a model may be talked
// into writing what it knows into an address. Addresses that people write and link to are short and made of words.

const MAX_PATH = 200;
const MAX_SEGMENT = 100;
const MAX_QUERY = 120;
const MAX_LABEL = 30;
const MAX_LABELS = 5;
/** Bits for each character: words and versions stay below, keys and encoded text lie above. */
const TOKEN_BITS = 3.4;
const TOKEN_CHARS = 20;
const CODED_BITS = 4.3;
const CODED_CHARS = 32;
/** Bytes as digits: text written so repeats its digits, and its entropy is low. */
const HEX = /^[0-9a-f]{24,}$/i;

/** What about it, in words; null when it looks like an address that somebody made. */
export function mayCarryData(url: string): string | null {
  const { hostname, pathname, search } = new URL(url);
  const labels = hostname.split('.');
  const segments = pathname.split('/');
  if (search.length > MAX_QUERY) return `a query of ${search.length} characters`;
  if (pathname.length > MAX_PATH) return `a path of ${pathname.length} characters`;
  if (segments.some((segment) => segment.length > MAX_SEGMENT)) return 'a very long part in its path';
  if (labels.length > MAX_LABELS || labels.some((label) => label.length > MAX_LABEL)) return 'a very long host name';
  const parts = [...labels, ...segments, ...search.slice(1).split(/[&=]/)].map(decoded);
  return parts.some(isCoded) ? 'a part that looks like a key or like encoded text' : null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Letters and digits mixed without a pattern, in one run or joined by the signs of base64. */
function isCoded(part: string): boolean {
  if (part.length >= CODED_CHARS && mixed(part) && bitsPerChar(part) >= CODED_BITS) return true;
  return part
    .split(/[^A-Za-z0-9]+/)
    .some((run) => HEX.test(run) || (run.length >= TOKEN_CHARS && mixed(run) && bitsPerChar(run) >= TOKEN_BITS));
}

const mixed = (text: string): boolean => (text.match(/\d/g)?.length ?? 0) >= 3 && /[A-Za-z]/.test(text);

/** Shannon's entropy of the characters. */
function bitsPerChar(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
