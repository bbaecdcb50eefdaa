// The stream for programs: one event a line, as docs/events.md describes it. Characters that a terminal would act on, or that nobody
// sees, are written as \uXXXX: the same JSON, safe to look at.

import type { StreamEvent } from '../shared/stream-events.ts';
import type { Renderer } from './render-plain.ts';
import type { Sink } from './screen.ts';

const UNSAFE = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;

export const createJsonRenderer = (out: Sink): Renderer => ({
  show: (event: StreamEvent) => out.write(jsonLine(event)),
});
