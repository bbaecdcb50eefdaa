// Makes text of one fetched page (SPEC O20): decodes it, then Markdown of HTML, indented JSON, and anything else as it is. Runs in a
// thread that may neither write nor start anything, and that is ended when it takes too long (orchestrator/pool.ts).

import type { PageInput } from '../shared/heavy-task.ts';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import type { WebDocument } from '../shared/web-port.ts';

/** More than any model is given; what is beyond is told. */
const MAX_TEXT_CHARS = 1_000_000;
const MAX_LINKS = 2_000;
const SNIFFED_BYTES = 1_024;

/** `begun` is called when all is loaded and the work itself begins. */
export async function readPage(input: PageInput, begun: () => void): Promise<Outcome<WebDocument>> {
  const kind = kindOf(input);
  const html = kind === 'html' ? await import('./html-markdown.ts') : null;
  begun();
  const text = decode(input);
  if (text.includes('\0')) {
    return fail('failed', 'not_text', `${input.url} holds bytes that are no text. Look for a page that describes it.`);
  }
  if (html) {
    const converted = html.htmlToMarkdown(text, input.url);
    return converted.ok ? ok(capped(converted.value)) : converted;
  }
  return ok(
    capped(kind === 'json' ? jsonDocument(text) : textDocument(text, kind === 'markdown' ? 'markdown' : 'text')),
  );
}

function capped(document: WebDocument): WebDocument {
  const { text, notes } = document;
  if (text.length <= MAX_TEXT_CHARS) return document;
  const note = `Only the first ${MAX_TEXT_CHARS} of ${text.length} characters were kept.`;
  return { ...document, text: text.slice(0, MAX_TEXT_CHARS), notes: [...notes, note] };
}

function kindOf({ contentType, url, bytes }: PageInput): 'html' | 'json' | 'markdown' | 'text' {
  if (contentType === 'text/html' || contentType === 'application/xhtml+xml') return 'html';
  if (/[/+]json$/.test(contentType)) return 'json';
  if (contentType === 'text/markdown' || contentType === 'text/x-markdown') return 'markdown';
  const path = URL.parse(url)?.pathname ?? '';
  if (contentType === 'text/plain' && /\.(?:md|markdown)$/i.test(path)) return 'markdown';
  if (contentType === 'text/plain' && /\.json$/i.test(path)) return 'json';
  if (contentType === '' && /^\s*<(?:!doctype html|html|head|body)\b/i.test(latin1(bytes))) return 'html';
  return 'text';
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');

/** By its byte order mark, what the server said, what the page says of itself; else UTF-8. */
function decode({ bytes, charset }: PageInput): string {
  const said = charset ?? /<meta[^>]{1,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(latin1(bytes))?.[1];
  const label = markOf(bytes) ?? said ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined;
}

function jsonDocument(text: string): WebDocument {
  try {
    const pretty = JSON.stringify(JSON.parse(text) as unknown, null, 2);
    return { ...textDocument(pretty, 'json'), links: [] };
  } catch {
    const plain = textDocument(text, 'text');
    return { ...plain, notes: ['It is called JSON but is not valid JSON; this is its text.', ...plain.notes] };
  }
}

function textDocument(text: string, format: WebDocument['format']): WebDocument {
  const searched = text.slice(0, MAX_TEXT_CHARS);
  const found = searched.match(/https?:\/\/[^\s<>"'`()[\]{}\\]{1,500}/g)?.slice(0, MAX_LINKS) ?? [];
  const links = new Set(found.map((url) => url.replace(/[.,;:!?]+$/, '')));
  const title = format === 'markdown' ? (/^# +(.{1,200})$/m.exec(searched)?.[1]?.trim() ?? '') : '';
  return { format, title, text, links: [...links], notes: [] };
}
