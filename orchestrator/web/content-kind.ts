// Which kinds of content are read (SAFETY 5), and what is said of the others. workers/heavy-page.ts makes text of those that are.

import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { WebTarget } from '../../shared/web-port.ts';

const READ =
  /^(?:text\/.+|application\/(?:xhtml\+xml|(?:.+\+)?(?:json|xml|yaml)|x-yaml|toml|x-ndjson|jsonl|(?:x-)?javascript|ecmascript|x-sh|sql|graphql))$/;

/** The type without its parameters. */
export const essenceOf = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

/** Fails with what it is, how long, and what can be done instead. `bytes` is NaN when the server did not say. */
export function contentKind(contentType: string, { url }: WebTarget, bytes: number): Outcome<null> {
  // Without a type it may be text; a thread looks.
  if (contentType === '' || READ.test(contentType)) return ok(null);
  const size = Number.isFinite(bytes) ? `, ${sizeText(bytes)}` : '';
  if (contentType === 'application/pdf') {
    return fail(
      'failed',
      'pdf',
      `${url} is a PDF document${size}. WebFetch cannot read PDF. Look for the same text as a web page ` +
        '(an abstract page, an HTML edition, a README), or ask the user for the part that is needed.',
    );
  }
  return fail(
    'failed',
    'not_text',
    `${url} is ${contentType.slice(0, 100)}${size}, which holds no text to read. Look for a page that describes it.`,
  );
}

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
