// Small rules of rendering that all dialects share, so that the same history always gives the same bytes.

import { createHash } from 'node:crypto';
import { type ImageRef, imageLabel } from '../shared/images.ts';
import type { Json, JsonObject } from '../shared/json.ts';
import type { ModelMessage } from '../shared/messages.ts';

/** No provider takes an empty text, and some refuse blank ones (SPEC E18). */
export function nonEmpty(text: string, instead: string): string {
  return text.trim() === '' ? instead : text;
}

export const NO_TEXT = '(no text)';
export const NO_OUTPUT = '(no output)';

/**
 * Ids and names of calls that another server made up, or a model imagined, for APIs that are strict about them: a conversation must
 * go on with any of them (SPEC E9). The same one always becomes the same.
 */
export function wireId(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url').slice(0, 22)}`;
}

export const wireName = (name: string): string => nonEmpty(name.replace(/[^\w-]/g, '_').slice(0, 64), 'unnamed');

/** A user message with the facts that were appended to it when it was the newest. */
export function withFacts(text: string, facts: string | undefined): string {
  const body = nonEmpty(text, NO_TEXT);
  return facts === undefined || facts.trim() === '' ? body : `${body}\n\n${facts}`;
}

/** A picture as a provider gets it. */
interface SentImage {
  readonly mediaType: ImageRef['mediaType'];
  readonly data: string;
}

/** The pictures of a message that are sent, and a line for each before its text: what it is called, and whether it is there. */
export function picturesOf(
  { images = [] }: Extract<ModelMessage, { readonly role: 'user' }>,
  data: ReadonlyMap<string, string> = new Map(),
): { readonly sent: readonly SentImage[]; readonly lines: string } {
  const sent: SentImage[] = [];
  const lines = images.map((image) => {
    const base64 = data.get(image.sha256);
    if (base64 === undefined) return `[picture ${imageLabel(image)}: not sent]\n`;
    sent.push({ mediaType: image.mediaType, data: base64 });
    return `[picture ${sent.length} of this message: ${imageLabel(image)}]\n`;
  });
  return { sent, lines: lines.join('') };
}

/** A call's arguments as an object. What the model sent otherwise is kept under `_raw`: the model sees what it did. */
export function argsObject(rawArgs: string): JsonObject {
  if (rawArgs.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(rawArgs);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Not JSON: kept as text below.
  }
  return { _raw: rawArgs };
}

/** A call's arguments as JSON text: as they came when they are an object (many servers parse them again), else wrapped. */
export function argsText(rawArgs: string): string {
  const args = argsObject(rawArgs);
  return rawArgs.trim() === '' || '_raw' in args ? JSON.stringify(args) : rawArgs;
}

/**
 * Thinking may go back only to the model that thought it, behind an unchanged conversation: newer Claude models refuse the
 * whole request otherwise, and no other provider can read it. So each opaque block carries a seal, the hash of all that came
 * before it, and is left out where the seal no longer fits (another model, another mode, after compaction).
 *
 * The seal is a chain of hashes, and what a message makes of it is kept as long as the message lives: sealing a long conversation
 * again costs what is new in it.
 */
export interface Seal {
  /** What a message was rendered as behind the present seal; the same message behind the same seal is always rendered the same. */
  add(message: object, rendered: unknown): void;
  current(): string;
}

const links = new WeakMap<object, { readonly before: string; readonly after: string }>();

/** `api` and `before` are everything else that renders a message as it is. */
export function startSeal(api: string, ...before: readonly unknown[]): Seal {
  let seal = link(api, before);
  return {
    add(message, rendered) {
      const known = links.get(message);
      const after = known?.before === seal ? known.after : link(seal, rendered);
      if (after !== known?.after) links.set(message, { before: seal, after });
      seal = after;
    },
    current: () => seal.slice(0, 22),
  };
}

const link = (before: string, rendered: unknown): string =>
  createHash('sha256')
    .update(`${before}\n${JSON.stringify(rendered)}`)
    .digest('base64url');

export function sealed(api: string, seal: string, block: Json): Json {
  return { api, seal, block };
}

/** The block of a sealed value, when it was sealed by the same API behind the same conversation. */
export function unsealed(opaque: Json | undefined, api: string, seal: string): JsonObject | undefined {
  if (typeof opaque !== 'object' || opaque === null || Array.isArray(opaque)) return undefined;
  const value = opaque as JsonObject;
  const block = value['block'];
  if (value['api'] !== api || value['seal'] !== seal) return undefined;
  return typeof block === 'object' && block !== null && !Array.isArray(block) ? (block as JsonObject) : undefined;
}
