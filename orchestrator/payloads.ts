// The large part of an event, its payload, moves to the blob store on the way into the journal and back on the way out
// (DURABILITY 2). Which field holds it is known here alone.

import type { JournalEvent } from '../shared/events.ts';
import type { BlobRef } from '../shared/payload.ts';
import { INLINE_BYTES } from './blobs.ts';

type PutBlob = (text: string) => Promise<BlobRef>;
type GetBlob = (ref: BlobRef) => Promise<string>;

/** Whether the event's payload is inline and over the limit. */
export function isLarge(event: JournalEvent): boolean {
  const text = inlineText(event);
  // Three bytes a UTF-16 unit at the most: counted exactly only near the limit.
  return text !== null && text.length * 3 > INLINE_BYTES && Buffer.byteLength(text) > INLINE_BYTES;
}

/** The event as the journal keeps it: its payload, if large, as a reference to a blob that is on disk. */
export async function withBlob<E extends JournalEvent>(event: E, putBlob: PutBlob): Promise<E> {
  const text = inlineText(event);
  if (text === null || !isLarge(event)) return event;
  const blob = await putBlob(text);
  return withPayload(event, { blob }) as E;
}

/** The event with its payload read back. */
export async function withInlinePayload(event: JournalEvent, getBlob: GetBlob): Promise<JournalEvent> {
  const payload = payloadOf(event);
  if (payload === null || 'inline' in payload) return event;
  const text = await getBlob(payload.blob);
  return withPayload(event, { inline: text });
}

type AnyPayload = { readonly inline: unknown } | { readonly blob: BlobRef };

function payloadOf(event: JournalEvent): AnyPayload | null {
  switch (event.type) {
    case 'agent.ev':
      return payloadOf(event.event);
    case 'agent.spawn':
      return event.prompt;
    case 'agent.done':
      return event.answer;
    case 'msg.start':
      return event.body;
    case 'llm.res':
      return event.parts;
    case 'compact.done':
      return event.messages;
    case 'tool.done':
      return event.text;
    case 'msg.done':
      return event.answer;
    case 'hook.ran':
      return event.args ?? null;
    default:
      return null;
  }
}

function inlineText(event: JournalEvent): string | null {
  const payload = payloadOf(event);
  if (payload === null || !('inline' in payload)) return null;
  return typeof payload.inline === 'string' ? payload.inline : JSON.stringify(payload.inline);
}

function withPayload(
  event: JournalEvent,
  payload: { readonly inline: string } | { readonly blob: BlobRef },
): JournalEvent {
  switch (event.type) {
    case 'agent.ev':
      return { ...event, event: withPayload(event.event, payload) };
    case 'agent.spawn':
      return { ...event, prompt: payload };
    case 'agent.done':
      return { ...event, answer: payload };
    case 'msg.start':
      return { ...event, body: payload };
    case 'llm.res':
      return { ...event, parts: 'blob' in payload ? payload : { inline: JSON.parse(payload.inline) } };
    case 'compact.done':
      return { ...event, messages: 'blob' in payload ? payload : { inline: JSON.parse(payload.inline) } };
    case 'tool.done':
      return { ...event, text: payload };
    case 'msg.done':
      return { ...event, answer: payload };
    case 'hook.ran':
      return { ...event, args: 'blob' in payload ? payload : { inline: JSON.parse(payload.inline) } };
    default:
      return event;
  }
}
