// What a scripted model is told and what it answers, whatever API it is asked through. The server in server.ts plays it;
// `odin demo`, the benchmarks and the tests write the scripts.

import type { JsonObject } from '../../shared/json.ts';

export type ScriptedApi = 'anthropic' | 'responses' | 'chat';

/** One request to the model, read out of the API's own dialect. */
export interface ScriptedTurn {
  readonly api: ScriptedApi;
  /** Counts the server's model requests from 0, in the order of their arrival. */
  readonly requestIndex: number;
  readonly model: string;
  readonly body: JsonObject;
  readonly system: string;
  /** All texts of the conversation, joined by newlines: what was said, and what the tools gave. */
  readonly messagesText: string;
  /** The newest message of the user, facts included. */
  readonly userText: string;
  /** The results that came back since the model last spoke. Empty at the start of a message. */
  readonly lastToolResults: readonly ScriptedToolResult[];
  /** How often the model has spoken since the user's newest message. */
  readonly stepOfMessage: number;
  readonly toolNames: readonly string[];
}

export interface ScriptedToolResult {
  readonly callId: string;
  readonly name?: string;
  readonly text: string;
}

/**
 * What goes wrong. http_*: instead of an answer. page_*: a proxy's page of HTML with that status. json_200: an error told with a good
 * status. reset, no_headers, empty_stream, pings: nothing of the answer comes. error_event, bad_json, stall, cut, quiet_end: half of it
 * does. max_tokens: the answer ends early, inside the arguments of its last call if it has one. refusal, content_filter, context_full:
 * it is there, and ends by that name; finish_error is one of chat completions only. no_usage, same_call_ids: as some servers answer.
 */
export type ScriptedFault =
  | 'http_400'
  | 'http_400_context'
  | 'http_401'
  | 'http_402'
  | 'http_404'
  | 'http_408'
  | 'http_409'
  | 'http_413'
  | 'http_422'
  | 'http_429'
  | 'http_500'
  | 'http_503'
  | 'http_529'
  | 'page_200'
  | 'page_502'
  | 'json_200'
  | 'reset'
  | 'no_headers'
  | 'empty_stream'
  | 'pings'
  | 'error_event'
  | 'bad_json'
  | 'stall'
  | 'cut'
  | 'quiet_end'
  | 'max_tokens'
  | 'finish_error'
  | 'refusal'
  | 'content_filter'
  | 'context_full'
  | 'no_usage'
  | 'same_call_ids';

export interface ScriptedCall {
  readonly name: string;
  /** Text is sent as it is, even when it is not JSON. */
  readonly args: JsonObject | string;
}

export interface ScriptedAnswer {
  readonly text?: string;
  readonly thinking?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  /** Time to the first byte. */
  readonly delayMs?: number;
  /** Time between two pieces. Default 0: the whole answer is written at once. */
  readonly pieceDelayMs?: number;
  /** Characters per streamed piece. Default 64. */
  readonly chunkSize?: number;
  readonly fault?: ScriptedFault;
  /** The Retry-After header of http_*: seconds, or a date. */
  readonly retryAfter?: number | string;
}

export type Script = (turn: ScriptedTurn) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** One API's dialect: how its requests are read and how an answer is put into its events. */
export interface ScriptedDialect {
  readonly api: ScriptedApi;
  readonly path: string;
  readTurn(body: JsonObject): Omit<ScriptedTurn, 'api' | 'requestIndex' | 'model' | 'body'>;
  /** The answer as server-sent events, the terminal one last. */
  events(answer: ScriptedAnswer, about: AnswerContext): readonly string[];
  errorBody(error: ScriptedError): JsonObject;
  /** An error in the middle of a stream. */
  errorEvent(error: ScriptedError): string;
  /** What keeps the line open and says nothing. */
  readonly ping: string;
}

export interface AnswerContext {
  readonly model: string;
  readonly requestIndex: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  /** All calls have one and the same id. */
  readonly sameCallIds: boolean;
}

export interface ScriptedError {
  readonly status: number;
  readonly anthropicType: string;
  readonly openaiType: string;
  readonly openaiCode: string | null;
  readonly message: string;
}

/** A text in pieces of `size` characters; at least one piece. */
export function piecesOf(text: string, size = 64): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces.length > 0 ? pieces : [''];
}

export const argsTextOf = (call: ScriptedCall): string =>
  typeof call.args === 'string' ? call.args : JSON.stringify(call.args);

/** The calls with the text of their arguments; under max_tokens the last one is cut in half. */
export function callsOf(answer: ScriptedAnswer): readonly { readonly name: string; readonly args: string }[] {
  const calls = (answer.toolCalls ?? []).map((call) => ({ name: call.name, args: argsTextOf(call) }));
  const last = calls.at(-1);
  if (answer.fault === 'max_tokens' && last !== undefined) last.args = last.args.slice(0, last.args.length / 2);
  return calls;
}

/** Tokens from real sizes: four bytes each. */
export function outputTokensOf(answer: ScriptedAnswer): number {
  const written = [answer.text ?? '', answer.thinking ?? '', ...callsOf(answer).map((call) => call.name + call.args)];
  return Math.max(1, Math.ceil(Buffer.byteLength(written.join('')) / 4));
}

export const callIdOf = (about: AnswerContext, index: number): string =>
  about.sameCallIds ? 'call_0' : `call_${about.requestIndex}_${index}`;

/** One server-sent event. */
export const sse = (data: JsonObject, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Narrowing for bodies that were parsed but not checked. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((item): item is JsonObject => typeof item === 'object' && item !== null) : [];

export const stringIn = (value: unknown): string => (typeof value === 'string' ? value : '');

export const textIn = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return objectsIn(value)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : textIn(part['content'])))
    .join('\n');
};
