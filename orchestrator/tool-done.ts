// The end of a tool call as an event, the same in a turn and after a crash: cleaned of control characters, then of secrets.

import type { ToolResponse } from '../shared/define-tool.ts';
import type { EventOf, SettledKind, ToolCallSummary } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import type { Failure } from '../shared/outcome.ts';
import { scrubJson } from '../shared/scrub.ts';
import type { ToolCallDeps } from './tool-call.ts';

/** How a call ended, as the journal keeps it: cleaned and scrubbed, its text never empty (SPEC E18). */
export function toolDone(
  deps: Pick<ToolCallDeps, 'clean' | 'scrub' | 'now'>,
  call: ToolCallSummary,
  end: {
    readonly kind: SettledKind;
    readonly failure: Failure | null;
    readonly response: ToolResponse | null;
    readonly startedAt: number;
  },
): EventOf<'tool.done'> {
  const { kind, failure, response, startedAt } = end;
  const raw = response ? response.text : (failure?.message ?? 'It failed without saying why.');
  // Cleaned first: an escape sequence right before a secret would hide where it begins.
  const safe = (text: string) => deps.scrub(deps.clean(text));
  const text = safe(raw) || '(no output)';
  const at = deps.now();
  return {
    type: 'tool.done',
    op: call.op,
    callId: call.callId,
    name: call.name,
    kind,
    text: { inline: text },
    description: safe(response?.description ?? firstLine(text)),
    affectedFiles: response?.affectedFiles ?? [],
    ...(response?.data === undefined ? {} : { data: scrubJson(response.data, safe) }),
    ...(response?.todos === undefined ? {} : { todos: scrubJson(response.todos, safe) }),
    ...(response?.compact === undefined ? {} : { compact: safe(response.compact) }),
    resultHash: sha256(`${kind}|${text}`),
    durationMs: Math.round(at - startedAt),
    at,
  };
}

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').slice(0, 160);
