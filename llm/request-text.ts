// Small rules of rendering that all dialects share, so that the same history always gives the same bytes.

import { hash } from 'node:crypto';
import { type ImageRef, imageLabel } from '../shared/images.ts';
import type { Json, JsonObject } from '../shared/json.ts';
import type { ModelMessage, ModelRequest, ToolSpec } from '../shared/messages.ts';

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
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${hash('sha256', id, 'base64url').slice(0, 22)}`;
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
 * The seal is a chain of hashes. What a message makes of it, and what it was rendered as, is kept as long as the message lives: a request
 * of a long conversation costs what is new in it.
 */
export interface Seal {
  /**
   * What a message is sent as behind the present seal, which then goes on over it. The same message behind the same seal is always
   * sent the same, so `render` is asked only once; of what shows pictures each time, for not every request has them.
   */
  add<T>(message: ModelMessage, render: () => Rendered<T>): T;
  current(): string;
}

export interface Rendered<T> {
  /** As JSON; empty when nothing is sent, which leaves the seal as it is. */
  readonly json: string;
  readonly sent: T;
}

interface Link {
  readonly before: string;
  readonly after: string;
  readonly sent: unknown;
}

const links = new WeakMap<ModelMessage, Link>();
const firsts = new WeakMap<readonly ToolSpec[], { readonly of: readonly string[]; readonly seal: string }>();

/** `api`, the model and what stands before the messages are everything else that renders a message as it is. */
export function startSeal(api: string, { model, system, tools }: ModelRequest): Seal {
  let seal = firstSeal();
  return {
    add<T>(message: ModelMessage, render: () => Rendered<T>): T {
      const found = links.get(message);
      const known = found?.before === seal ? found : undefined;
      if (known && !hasPictures(message)) {
        seal = known.after;
        return known.sent as T;
      }
      const { json, sent } = render();
      const after = known?.after ?? (json === '' ? seal : link(seal, json));
      if (!known) links.set(message, { before: seal, after, sent: hasPictures(message) ? null : sent });
      seal = after;
      return sent;
    },
    current: () => seal.slice(0, 22),
  };

  function firstSeal(): string {
    const of = [api, model, system];
    const known = firsts.get(tools);
    if (known?.of.every((part, i) => part === of[i])) return known.seal;
    const first = link(api, JSON.stringify([model, system, tools]));
    firsts.set(tools, { of, seal: first });
    return first;
  }
}

const hasPictures = (message: ModelMessage): boolean => message.role === 'user' && message.images !== undefined;

const link = (before: string, json: string): string => hash('sha256', `${before}\n${json}`, 'base64url');

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
