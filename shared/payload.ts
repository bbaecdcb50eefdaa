// Content of an event that may be too large to stand in it.

import type { Json } from './json.ts';
import type { AssistantPart, ModelMessage } from './messages.ts';
import { Bug } from './outcome.ts';

/** Content kept by hash in the blob store because it is over 16 KB. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
}

/** A payload: inline when small, else by reference. Blobs are on disk before the event that names them is appended. */
export type Payload<T extends Json | readonly AssistantPart[] | readonly ModelMessage[] = string> =
  | { readonly inline: T }
  | { readonly blob: BlobRef };

/** The content of a payload whose blob has been read; folds and views get only such. */
export function inlineOf<T>(payload: { readonly inline: T } | { readonly blob: BlobRef }): T {
  if ('inline' in payload) return payload.inline;
  throw new Bug('A payload was used before its blob was read.');
}
