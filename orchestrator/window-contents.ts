// What fills a model's window (SPEC E4, G1), by kind, as the next request of the session would have it. Estimated text by text, then put in
// proportion to what the provider counted for the newest answer, so that the parts are a whole.

import { emptyState, foldState } from '../agent/state.ts';
import { systemPrompt } from '../llm/context/build-request.ts';
import { EMPTY_HISTORY, foldHistory } from '../llm/context/history.ts';
import { countTokens } from '../llm/context/token-count.ts';
import { toolSpec } from '../shared/define-tool.ts';
import { imageTokens } from '../shared/images.ts';
import type { ModelMessage, ToolCallPart } from '../shared/messages.ts';
import type { Mode } from '../shared/modes.ts';
import { readJournal } from './journal-source.ts';
import { withInlinePayload } from './payloads.ts';
import { sourceOf } from './session-reads.ts';
import type { World } from './world.ts';

const WINDOW_KINDS = [
  'prompt',
  'instructions',
  'tools',
  'messages',
  'pictures',
  'answers',
  'calls',
  'files',
  'results',
  'facts',
] as const;
export type WindowKind = (typeof WINDOW_KINDS)[number];

export interface WindowContents {
  /** `provider/name`; empty before the first answer. */
  readonly model: string;
  /** 0: not known. */
  readonly size: number;
  /** Counted by the provider for the newest answer, or estimated before there is one. */
  readonly tokens: number;
  readonly parts: Readonly<Record<WindowKind, number>>;
  /** Files whose text stands in the conversation, the largest first. */
  readonly files: readonly { readonly path: string; readonly tokens: number }[];
}

const READS = 'ReadFile';

export async function readWindow(world: World, sid: string, mode: Mode): Promise<WindowContents> {
  await world.inbox.head(sid);
  let state = emptyState(sid);
  let history = EMPTY_HISTORY;
  for (const { id, event } of await readJournal(sourceOf(world), sid)) {
    const whole = await withInlinePayload(event, (blob) => world.blobs.getPayload({ blob }));
    state = foldState(state, { id, event: whole });
    history = foldHistory(history, whole);
  }
  const parts: Record<WindowKind, number> = { ...NOTHING };
  const bare = countTokens(systemPrompt(mode, world.root, ''));
  parts.prompt = bare;
  parts.instructions = Math.max(0, countTokens(systemPrompt(mode, world.root, state.customInstructions)) - bare);
  for (const { name, description, inputSchema } of world.toolbox.tools(sid, mode).map(toolSpec)) {
    parts.tools += countTokens(`${name} ${description} ${JSON.stringify(inputSchema)}`);
  }
  const calls = new Map<string, ToolCallPart>();
  const files = new Map<string, number>();
  for (const message of history.messages) addMessage(message, parts, calls, files);

  const sum = Object.values(parts).reduce((all, part) => all + part, 0);
  const { model = '', tokens = sum } = state.window ?? {};
  const scale = tokens / sum;
  return {
    model,
    size: model === '' ? 0 : world.models.windowOf(model),
    tokens,
    parts: Object.fromEntries(WINDOW_KINDS.map((kind) => [kind, Math.round(parts[kind] * scale)])) as Readonly<
      Record<WindowKind, number>
    >,
    files: [...files]
      .map(([path, tokens]) => ({ path, tokens: Math.round(tokens * scale) }))
      .toSorted((a, b) => b.tokens - a.tokens),
  };
}

function addMessage(
  message: ModelMessage,
  parts: Record<WindowKind, number>,
  calls: Map<string, ToolCallPart>,
  files: Map<string, number>,
): void {
  if (message.role === 'assistant') {
    for (const part of message.parts) {
      if (part.type !== 'tool_call') parts.answers += countTokens(part.text);
      else {
        calls.set(part.callId, part);
        parts.calls += countTokens(part.name) + countTokens(part.rawArgs);
      }
    }
    return;
  }
  parts.facts += countTokens(message.facts ?? '');
  if (message.role === 'user') {
    parts.messages += countTokens(message.text);
    for (const image of message.images ?? []) parts.pictures += imageTokens(image);
    return;
  }
  for (const { callId, name, text } of message.results) {
    const tokens = countTokens(text);
    const path =
      name === READS ? /"file_path"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(calls.get(callId)?.rawArgs ?? '')?.[1] : undefined;
    parts[name === READS ? 'files' : 'results'] += tokens;
    if (path !== undefined) files.set(path, (files.get(path) ?? 0) + tokens);
  }
}

const NOTHING: Readonly<Record<WindowKind, number>> = {
  ...{ prompt: 0, instructions: 0, tools: 0, messages: 0, pictures: 0 },
  ...{ answers: 0, calls: 0, files: 0, results: 0, facts: 0 },
};
