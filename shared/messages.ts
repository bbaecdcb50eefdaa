// The conversation with a model, in no provider's dialect. llm/<provider>.ts translates; everything else speaks this.

import type { ImageRef } from './images.ts';
import type { Json, JsonObject } from './json.ts';

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  /** The provider's own mark on this text (OpenAI: its phase), sent back unchanged. */
  readonly opaque?: Json;
}

/** What the model thought. `opaque` is the provider's own block (signature, encrypted reasoning), sent back unchanged. */
export interface ThinkingPart {
  readonly type: 'thinking';
  readonly text: string;
  readonly opaque?: Json;
}

export interface ToolCallPart {
  readonly type: 'tool_call';
  /** The provider's id of the call; the result must name it. */
  readonly callId: string;
  readonly name: string;
  /** The arguments as the provider sent them, byte for byte: they are sent back so (stable prefix, ARCHITECTURE 9). */
  readonly rawArgs: string;
}

export type AssistantPart = TextPart | ThinkingPart | ToolCallPart;

export interface ToolResultPart {
  readonly callId: string;
  readonly name: string;
  /** Never empty (SPEC E18). */
  readonly text: string;
  readonly isError: boolean;
}

/** One entry of the history. `facts` are the volatile facts appended to it when it was the newest; they stay (ARCHITECTURE 9). */
export type ModelMessage =
  | {
      readonly role: 'user';
      readonly text: string;
      /** Absent: none. */
      readonly images?: readonly ImageRef[];
      readonly facts?: string;
    }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly results: readonly ToolResultPart[]; readonly facts?: string };

/** Tokens as the provider counted them. `input` includes what was read from or written to its cache. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
});

/** Why the model stopped. Tools run only on `tool_calls`: a call cut by `max_tokens` can parse to wrong arguments. */
export type StopReason = 'end' | 'tool_calls' | 'max_tokens' | 'refusal' | 'context_full' | 'other';

export interface ModelAnswer {
  readonly parts: readonly AssistantPart[];
  readonly stop: StopReason;
  readonly usage: Usage;
  /** The model as the provider names it. */
  readonly model: string;
}

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface ModelRequest {
  /** The provider's own name of the model, without the `provider/` part. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  readonly messages: readonly ModelMessage[];
  /** Base64 of the pictures in them that are sent, by hash. Absent: none is. */
  readonly images?: ReadonlyMap<string, string>;
  readonly maxOutputTokens: number;
  /** The same in every request of a session: routes to the same provider-side cache. */
  readonly cacheKey: string;
}

export const textOf = (parts: readonly AssistantPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

export const toolCallsOf = (parts: readonly AssistantPart[]): readonly ToolCallPart[] =>
  parts.filter((part) => part.type === 'tool_call');
