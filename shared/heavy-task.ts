// What the heavy thread pool can do (SPEC C3): one entry for each kind of task. orchestrator/pool.ts sends, workers/heavy.ts
// performs. A new kind is one line here and one case there.

import type { MessagePort } from 'node:worker_threads';
import type { GlobQuery, GlobResult, GrepQuery, GrepResult } from './search-port.ts';
import type { WebDocument } from './web-port.ts';

export interface HeavyTasks {
  readonly grep: { readonly input: GrepQuery; readonly output: GrepResult };
  readonly glob: { readonly input: GlobQuery; readonly output: GlobResult };
  readonly tokens: { readonly input: TokenTexts; readonly output: TokenCounts };
  readonly page: { readonly input: PageInput; readonly output: WebDocument };
}

/** Texts to be counted, and how many tokens each has, in the same order. */
export interface TokenTexts {
  readonly texts: readonly string[];
}
export interface TokenCounts {
  readonly counts: readonly number[];
}

/** A page as it came over the wire (SPEC O20). */
export interface PageInput {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower case, without parameters; empty when nobody said. */
  readonly contentType: string;
  readonly charset: string | null;
  readonly url: string;
}

export type HeavyKind = keyof HeavyTasks;

/**
 * One request to a thread. Any message on `cancel` asks the task to stop and to end its child processes. A message back says that all
 * is loaded and the work itself begins: a limit on its time counts from there.
 */
export type HeavyRequest = {
  readonly [K in HeavyKind]: { readonly kind: K; readonly input: HeavyTasks[K]['input']; readonly cancel: MessagePort };
}[HeavyKind];
