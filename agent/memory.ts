// What a loop holds in memory: the folds of its agent's events that its prompts are made of. Rebuilt from the journal at any time.

import type { ToldFacts } from '../llm/context/facts.ts';
import { EMPTY_HISTORY, foldHistory, type History, isTakenOut } from '../llm/context/history.ts';
import { foldTokens, NO_TOKENS, type TokenMemory } from '../llm/context/token-estimate.ts';
import { foldWindow, NO_WINDOW, type WindowMemory } from '../llm/context/window-memory.ts';
import type { JournalEvent } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import type { State } from '../shared/state.ts';
import { foldPermissions, NO_PERMISSIONS, type PermissionMemory } from './permissions-memory.ts';
import { emptyState, foldState } from './state.ts';

export interface AgentMemory {
  state: State;
  history: History;
  permissions: PermissionMemory;
  told: ToldFacts;
  /** What is known of how many tokens the next request has. */
  tokens: TokenMemory;
  /** And of how they fit the window. */
  window: WindowMemory;
  /** Running hash of the prompt's messages, so that hashing a request costs only what is new in it. */
  prompt: { readonly hash: string; readonly count: number };
}

export const emptyAgentMemory = (sid: string): AgentMemory => ({
  state: emptyState(sid),
  history: EMPTY_HISTORY,
  permissions: NO_PERMISSIONS,
  told: new Map(),
  tokens: NO_TOKENS,
  window: NO_WINDOW,
  prompt: { hash: '', count: 0 },
});

/** Folds one more event, payloads inline. `id` is that of the last event folded. */
export function foldAgentMemory(memory: AgentMemory, event: JournalEvent, id: string): void {
  memory.state = foldState(memory.state, { id, event });
  memory.history = foldHistory(memory.history, event);
  memory.tokens = foldTokens(memory.tokens, event, memory.history.messages);
  memory.window = foldWindow(memory.window, event);
  memory.permissions = foldPermissions(memory.permissions, event);
  if (event.type === 'compact.done' || isTakenOut(event)) {
    // What was told stood in what is gone now.
    memory.told = new Map();
    memory.prompt = { hash: '', count: 0 };
  }
}

/** Hash of the next request: chained over what is new in it, so that its cost does not grow with the history. */
export function promptHash(
  memory: Pick<AgentMemory, 'history' | 'prompt'>,
  prefix: string,
  facts: string | null,
): string {
  const { messages } = memory.history;
  const hash = sha256(
    `${memory.prompt.hash}|${prefix}|${facts}|${JSON.stringify(messages.slice(memory.prompt.count))}`,
  );
  memory.prompt = { hash, count: messages.length };
  return hash;
}
