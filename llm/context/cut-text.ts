// Cuts the middle out of a text and says so in its place: head and tail tell most of what a long output means.

const HEAD_SHARE = 0.7;
const NOTE_ROOM = 60;

/** At most `limit` characters, the note included; a text that fits comes back as it is. `why` is a sentence for the model. */
export function cutMiddle(text: string, limit: number, why: string): string {
  if (text.length <= limit) return text;
  const room = Math.max(0, limit - why.length - NOTE_ROOM);
  const head = wellFormed(text.slice(0, Math.ceil(room * HEAD_SHARE)));
  const tail = wellFormed(text.slice(text.length - Math.floor(room * (1 - HEAD_SHARE))));
  const cut = text.length - head.length - tail.length;
  return `${head}\n[… ${cut} characters cut here. ${why}]\n${tail}`;
}

/** Without halves of characters at its ends. */
const wellFormed = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
