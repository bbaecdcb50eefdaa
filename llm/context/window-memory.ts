// What the journal tells of the context's size beside the tokens themselves: a wish for a smaller one, what the last compaction came to,
// and what a provider has refused as too long. A fold, so that a resumed session knows it too.

import type { JournalEvent } from '../../shared/events.ts';
import type { OpId } from '../../shared/ids.ts';

export interface WindowMemory {
  /** The planner or the user asked for a smaller context: what to keep in particular. Null: nobody did. */
  readonly wish: string | null;
  readonly compacted: { readonly op: OpId; readonly tokens: number } | null;
  /** The smallest request that its model refused as too long, as it was estimated. */
  readonly refused: { readonly model: string; readonly tokens: number } | null;
  readonly asked: { readonly model: string; readonly tokens: number } | null;
}

export const NO_WINDOW: WindowMemory = { wish: null, compacted: null, refused: null, asked: null };

export function foldWindow(memory: WindowMemory, event: JournalEvent): WindowMemory {
  switch (event.type) {
    case 'tool.done':
      return event.compact === undefined ? memory : { ...memory, wish: event.compact };
    case 'compact.done':
      return { ...memory, wish: null, compacted: { op: event.op, tokens: event.tokensAfter } };
    case 'compact.fail':
      return { ...memory, wish: null };
    case 'llm.req':
      return event.estimate === undefined
        ? memory
        : { ...memory, asked: { model: event.model, tokens: event.estimate } };
    case 'llm.fail':
      return event.failure.code === 'context_too_long' && memory.asked !== null
        ? { ...memory, refused: smaller(memory.refused, memory.asked) }
        : memory;
    default:
      return memory;
  }
}

function smaller(before: WindowMemory['refused'], now: NonNullable<WindowMemory['asked']>): WindowMemory['refused'] {
  return before !== null && before.model === now.model && before.tokens <= now.tokens ? before : now;
}
