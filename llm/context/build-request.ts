// Builds the planner's request: system prompt of the mode, tools in their stable order, then the history. Deterministic:
// the same session state gives the same request.

import type { ModelRequest, ToolSpec } from '../../shared/messages.ts';
import type { Mode } from '../../shared/modes.ts';
import { askPrompt } from '../prompts/ask.ts';
import { editPrompt } from '../prompts/edit.ts';
import { planPrompt } from '../prompts/plan.ts';
import type { History } from './history.ts';
import { markedInstructions } from './instructions-text.ts';

export interface RequestParts {
  readonly sid: string;
  readonly mode: Mode;
  readonly root: string;
  /** ODIN.md and its like, marked with whose word they are, as journaled when the session was opened. */
  readonly instructions: string;
  /** What a subagent is told to be. */
  readonly role?: string;
  /** Without the `provider/` part. */
  readonly model: string;
  readonly tools: readonly ToolSpec[];
  readonly maxOutputTokens: number;
  readonly history: History;
}

const PROMPTS: Readonly<Record<Mode, string>> = { ask: askPrompt, plan: planPrompt, edit: editPrompt };

export function buildRequest(parts: RequestParts): ModelRequest {
  return {
    model: parts.model,
    system: systemPrompt(parts.mode, parts.root, parts.instructions, parts.role),
    tools: parts.tools,
    messages: parts.history.messages,
    maxOutputTokens: parts.maxOutputTokens,
    cacheKey: parts.sid,
  };
}

/** Holds nothing that changes within a session and a mode: it is the first part of the stable prefix. */
export function systemPrompt(mode: Mode, root: string, instructions: string, role = ''): string {
  const place = `Project root: ${root}\nPlatform: ${process.platform}`;
  return [PROMPTS[mode], place, markedInstructions(instructions), role].filter((part) => part !== '').join('\n\n');
}
