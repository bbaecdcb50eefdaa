// How many tokens a request will have (SPEC E7, ARCHITECTURE 9): exactly what the provider counted for the last answer, plus an estimate of
// what was added since. The estimate is of o200k tokens, kept for each message as long as it lives; a factor for each model, learnt from what
// the providers count, turns it into the model's own. The factors and the base are a fold of the journal, so a replay estimates the same.

import type { JournalEvent } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';
import { imageTokens } from '../../shared/images.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { AssistantPart, ModelMessage, ModelRequest, ToolSpec } from '../../shared/messages.ts';
import type { Mode } from '../../shared/modes.ts';
import { isTakenOut } from './history.ts';
import { countTokens } from './token-count.ts';

export interface TokenMemory {
  readonly mode: Mode;
  /** By the model's name without its provider. */
  readonly factors: Readonly<Record<string, Factor>>;
  /** What the provider has counted, and how many messages that covers; null when nothing counted holds for the next request. */
  readonly base: CountedBase | null;
  /** The request that is under way. */
  readonly asked: AskedRequest | null;
}

interface Factor {
  /** The model's tokens for one of o200k. */
  readonly value: number;
  readonly samples: number;
}

interface CountedBase {
  readonly model: string;
  readonly mode: Mode;
  readonly tokens: number;
  readonly messages: number;
}

interface AskedRequest {
  readonly op: OpId;
  readonly model: string;
  readonly estimate: number | null;
  /** Part of the estimate that was counted, not guessed. */
  readonly exact: number;
}

export interface RequestEstimate {
  /** Input tokens of the request, in all. */
  readonly tokens: number;
  /** Of these, what the provider has counted before; the rest is a guess. 0: everything is. */
  readonly exactBase: number;
}

export const NO_TOKENS: TokenMemory = { mode: 'ask', factors: {}, base: null, asked: null };

/** Tokens that a message, a call and a result cost beside their texts. */
const PER_MESSAGE = 5;
const PER_CALL = 12;
const PER_TOOL = 12;
/** A smaller guess says nothing about the factor. */
const MIN_SAMPLE = 100;
const FULL_SAMPLE = 1_000;

/** What the next request to this model will have as input. `facts` will be appended to its newest message. */
export function estimateRequest(memory: TokenMemory, request: ModelRequest, facts: string | null): RequestEstimate {
  const base = usableBase(memory, request.model, request.messages.length);
  const from = base?.messages ?? 0;
  let guess = facts === null ? 0 : countTokens(facts);
  for (let i = from; i < request.messages.length; i++) guess += messageTokens(request.messages[i] as ModelMessage);
  if (base === null) guess += prefixTokens(request.system, request.tools);
  const exactBase = base?.tokens ?? 0;
  return { tokens: exactBase + Math.ceil(guess * factorOf(memory, request.model)), exactBase };
}

/** The estimate of one text, such as an answer whose server counts nothing. */
export function estimateText(memory: TokenMemory, model: string, text: string): number {
  return Math.ceil(countTokens(text) * factorOf(memory, model));
}

/** The memory after one more event; `messages` are the history's behind it. */
export function foldTokens(memory: TokenMemory, event: JournalEvent, messages: readonly ModelMessage[]): TokenMemory {
  switch (event.type) {
    case 'msg.start':
      return memory.mode === event.mode ? memory : { ...memory, mode: event.mode };
    case 'llm.req': {
      const model = bareName(event.model);
      // What is new in the newest message came with the request, so the base covers none of it.
      const exact = usableBase(memory, model, messages.length)?.tokens ?? 0;
      return { ...memory, asked: { op: event.op, model, estimate: event.estimate ?? null, exact } };
    }
    case 'llm.res': {
      const { asked } = memory;
      // What a server did not count is nothing to learn from and nothing to build on: zeros, or an estimate in their place.
      if (asked?.op !== event.op || event.usage.input <= 0 || event.estimated)
        return { ...memory, asked: null, base: null };
      const covered = messages.at(-1)?.role === 'user' ? messages.length - 1 : messages.length;
      const base: CountedBase | null =
        event.stop === 'context_full'
          ? null
          : {
              model: asked.model,
              mode: memory.mode,
              tokens: event.usage.input + event.usage.output,
              messages: covered,
            };
      return { ...memory, base, asked: null, factors: learn(memory, asked, event.usage.input) };
    }
    case 'llm.fail':
      return { ...memory, asked: null };
    case 'compact.done':
      return { ...memory, base: null };
    case 'msg.done':
      return isTakenOut(event) ? { ...memory, base: null } : memory;
    default:
      return memory;
  }
}

/** One more comparison of what was guessed with what it was. One that is far off is a context that changed, not a factor. */
function learn(memory: TokenMemory, asked: AskedRequest, input: number): TokenMemory['factors'] {
  if (asked.estimate === null) return memory.factors;
  const guess = asked.estimate - asked.exact;
  const real = input - asked.exact;
  if (guess < MIN_SAMPLE || real <= 0) return memory.factors;
  const before = memory.factors[asked.model] ?? { value: startFactor(asked.model), samples: 0 };
  const seen = before.value * clamp(real / guess, 0.5, 2);
  const weight = Math.max(0.2, 1 / (before.samples + 2)) * Math.min(1, guess / FULL_SAMPLE);
  const value = clamp(before.value + weight * (seen - before.value), 0.4, 4);
  return { ...memory.factors, [asked.model]: { value, samples: before.samples + 1 } };
}

function usableBase({ base, mode }: TokenMemory, model: string, messages: number): CountedBase | null {
  if (base === null || base.model !== model || base.mode !== mode || base.messages > messages) return null;
  return base;
}

const factorOf = (memory: TokenMemory, model: string): number => memory.factors[model]?.value ?? startFactor(model);

/** Before anything was learnt: what others have measured against o200k (Claude has no public tokenizer). */
function startFactor(model: string): number {
  const claude = /claude-(?:[a-z]+-)*(\d+)(?:[-.](\d{1,2})(?!\d))?/.exec(model);
  if (claude) return Number(claude[1]) >= 5 || (claude[1] === '4' && Number(claude[2]) >= 7) ? 1.53 : 1.18;
  return /(?:^|\/)(?:gpt|o\d|chatgpt|codex)/.test(model) ? 1 : 1.1;
}

const bareName = (model: string): string => model.slice(model.indexOf('/') + 1);

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

interface Count {
  readonly tokens: number;
  /** By the tokenizer itself, not by countTokens. */
  readonly isExact: boolean;
}

const ofMessages = new WeakMap<ModelMessage, Count>();
const ofSchemas = new WeakMap<JsonObject, { readonly description: string; readonly tokens: number }>();
const ofSystems = new Map<string, number>();
const MAX_SYSTEMS = 8;

function messageTokens(message: ModelMessage): number {
  const known = ofMessages.get(message);
  if (known !== undefined) return known.tokens;
  let tokens = overheadOf(message);
  for (const text of textsOf(message)) tokens += countTokens(text);
  ofMessages.set(message, { tokens, isExact: false });
  return tokens;
}

/** Messages of a request that neither the provider nor the tokenizer has counted yet, with their texts. */
export function guessedMessages(
  memory: TokenMemory,
  request: ModelRequest,
): readonly { readonly message: ModelMessage; readonly text: string }[] {
  const from = usableBase(memory, request.model, request.messages.length)?.messages ?? 0;
  return request.messages
    .slice(from)
    .filter((message) => ofMessages.get(message)?.isExact !== true)
    .map((message) => ({ message, text: textsOf(message).join('\n') }));
}

/** Puts the tokenizer's count of a message's text in place of the guess. */
export function keepCount(message: ModelMessage, tokens: number): void {
  ofMessages.set(message, { tokens: tokens + overheadOf(message), isExact: true });
}

function textsOf(message: ModelMessage): readonly string[] {
  switch (message.role) {
    case 'user':
      return message.facts === undefined ? [message.text] : [message.text, message.facts];
    case 'assistant':
      return message.parts.flatMap(partTexts);
    case 'tool': {
      const texts = message.results.map((result) => result.text);
      return message.facts === undefined ? texts : [...texts, message.facts];
    }
  }
}

const partTexts = (part: AssistantPart): readonly string[] =>
  part.type === 'tool_call' ? [part.name, part.rawArgs] : [part.text];

function overheadOf(message: ModelMessage): number {
  if (message.role === 'user')
    return (message.images ?? []).reduce((sum, image) => sum + imageTokens(image), PER_MESSAGE);
  if (message.role === 'tool') return message.results.length * PER_CALL;
  return PER_MESSAGE + message.parts.filter((part) => part.type === 'tool_call').length * PER_CALL;
}

function prefixTokens(system: string, tools: readonly ToolSpec[]): number {
  let tokens = ofSystems.get(system);
  if (tokens === undefined) {
    tokens = countTokens(system);
    if (ofSystems.size >= MAX_SYSTEMS) ofSystems.clear();
    ofSystems.set(system, tokens);
  }
  for (const tool of tools) tokens += toolTokens(tool);
  return tokens;
}

/** A tool's specification is made anew for every message; its schema is the tool's own. */
function toolTokens({ description, inputSchema }: ToolSpec): number {
  const known = ofSchemas.get(inputSchema);
  if (known?.description === description) return known.tokens;
  const tokens = PER_TOOL + countTokens(description) + countTokens(JSON.stringify(inputSchema));
  ofSchemas.set(inputSchema, { description, tokens });
  return tokens;
}
