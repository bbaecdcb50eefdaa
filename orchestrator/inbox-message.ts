// A message as the inbox keeps it, between its submission and its msg.done.

import * as z from 'zod';
import { IMAGE_TYPES, type ImageRef, MOST_IMAGES } from '../shared/images.ts';
import type { Limits } from '../shared/limits.ts';
import type { MessageCommand } from '../shared/message-command.ts';
import { MODES, type Mode } from '../shared/modes.ts';
import type { Payload } from '../shared/payload.ts';

/** What a message asks for besides its mode and limits. */
export interface MessageOptions {
  /** `provider/name`; absent: those of the process that runs it. */
  readonly model?: string;
  readonly smallModel?: string;
  readonly fallbackModels?: readonly string[];
  readonly images?: readonly ImageRef[];
  readonly command?: MessageCommand;
}

export interface InboxMessage {
  readonly seq: number;
  readonly mid: string;
  readonly mode: Mode;
  readonly body: Payload;
  readonly limits: Partial<Limits>;
  readonly options: MessageOptions;
  readonly at: number;
  readonly removed: boolean;
  /** It is to be told to the message that runs. */
  readonly steered: boolean;
}

/** What was changed about it while it waited; empty texts are no change. */
export interface MessageChange {
  readonly mode: string;
  readonly body: string;
  /** Limits and options, as JSON. */
  readonly limits?: string;
  readonly removed: boolean;
  readonly steered?: boolean;
}

const modeSchema = z.enum(MODES);
const bodySchema = z.union([
  z.strictObject({ inline: z.string() }),
  z.strictObject({ blob: z.strictObject({ sha256: z.string(), bytes: z.number() }) }),
]);
const detailsSchema = z.strictObject({
  maxSteps: z.int().exactOptional(),
  usd: z.number().exactOptional(),
  tokens: z.number().exactOptional(),
  timeoutMs: z.number().exactOptional(),
  model: z.string().exactOptional(),
  smallModel: z.string().exactOptional(),
  fallbackModels: z.array(z.string()).exactOptional(),
  images: z
    .array(
      z.strictObject({
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        bytes: z.int().positive(),
        mediaType: z.enum(IMAGE_TYPES),
        name: z.string().max(200),
        width: z.int().positive(),
        height: z.int().positive(),
      }),
    )
    .max(MOST_IMAGES)
    .exactOptional(),
  command: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['undo', 'redo']), count: z.int().positive() }),
      z.strictObject({ type: z.literal('compact'), focus: z.string().exactOptional() }),
    ])
    .exactOptional(),
});

/** Others can write to a shared Redis, so what comes from there is checked like anything from outside. */
export function messageOf(seq: number, fields: readonly string[], change: MessageChange): InboxMessage {
  const field = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
  const { maxSteps, usd, tokens, timeoutMs, ...options } = detailsSchema.parse(
    JSON.parse(change.limits || field('limits')),
  );
  return {
    seq,
    mid: field('mid'),
    mode: modeSchema.parse(change.mode === '' ? field('mode') : change.mode),
    body: bodySchema.parse(JSON.parse(change.body === '' ? field('p') : change.body)),
    limits: given({ maxSteps, usd, tokens, timeoutMs }),
    options,
    at: Number(field('at')),
    removed: change.removed,
    steered: change.steered ?? false,
  };
}

/** Without what is undefined. */
const given = (limits: { readonly [K in keyof Limits]: Limits[K] | undefined }): Partial<Limits> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
