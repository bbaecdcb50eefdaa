// The questions of an agent that works with a worker, on its parent's side (SPEC O23, O24): put to the user as those of a local agent are, by
// the same port and under the same policy, journaled before the worker is told. What is answered for the session or for ever holds here; the
// worker hears yes or no to this one question, so that no grant goes from one machine to another unseen.

import { normalize } from 'node:path';
import * as z from 'zod';
import { denialOf, isGranted } from '../../../agent/permissions-memory.ts';
import type { EventOf, JournalEvent, Question, QuestionPath } from '../../../shared/events.ts';
import type { OpId } from '../../../shared/ids.ts';
import type { PermissionAnswer } from '../../../shared/ports.ts';
import { scrubJson } from '../../../shared/scrub.ts';
import type { ToolCallDeps } from '../../tool-call.ts';
import { QUESTION_ID, type RemoteWord } from './order.ts';

export interface RelayedQuestions {
  /** The question as the parent's journal has it. Throws when it is none, or one whose name another call's has here. */
  taken(event: EventOf<'perm.ask'>, worker: string): EventOf<'perm.ask'>;
  /** What the agent's journal says now: a question is put to the user; one whose call has ended is closed. */
  follow(event: JournalEvent): void;
  /** After a crash: what is open is asked, what was answered is told again, as nobody knows whether it was. */
  resume(events: readonly JournalEvent[]): void;
  /** Nobody waits for answers any more. */
  close(): void;
}

export interface RelayDeps
  extends Pick<ToolCallDeps, 'root' | 'agent' | 'permissions' | 'memory' | 'record' | 'flushed' | 'scrub' | 'now'> {
  tell(word: RemoteWord): Promise<void>;
  /** The worker could not be told. */
  broken(error: unknown): void;
}

const text = z.string().max(100_000);
const questionSchema = z.object({
  id: z.string().regex(QUESTION_ID),
  title: text,
  reasons: z.array(text).max(100),
  detail: text,
  argsHash: text,
  tool: z.string().max(100),
  paths: z
    .array(
      z.object({
        path: text,
        outside: z.boolean(),
        why: text,
        access: z.enum(['read', 'write']).optional(),
        under: text.optional(),
      }),
    )
    .max(1_000)
    .optional(),
  host: z.string().max(300).optional(),
});

const CLOSED: PermissionAnswer = { decision: 'deny', by: 'cancelled' };

export function relayQuestions(deps: RelayDeps): RelayedQuestions {
  const open = new Map<string, { readonly op: OpId; readonly stop: AbortController }>();

  const answered = (op: OpId, questionId: string, answer: PermissionAnswer): void =>
    deps.record({ type: 'perm.answer', op, questionId, ...answer, at: deps.now() });

  const close = (isMeant: (op: OpId) => boolean): void => {
    for (const [id, { op, stop }] of open) {
      if (!isMeant(op)) continue;
      open.delete(id);
      answered(op, id, CLOSED);
      stop.abort();
    }
  };

  const tell = async (question: string, { decision, by, word }: PermissionAnswer): Promise<void> => {
    await deps.flushed();
    const short = { decision: decision === 'deny' ? 'deny' : 'allow', by: by.slice(0, 200) } as const;
    await deps.tell({
      k: 'answer',
      question,
      ...short,
      ...(word === undefined ? {} : { word: word.slice(0, 20_000) }),
    });
  };

  const put = async (op: OpId, question: Question): Promise<void> => {
    const { id } = question;
    const stop = new AbortController();
    open.set(id, { op, stop });
    const { permissions: known } = deps.memory;
    const before = denialOf(known, question) ?? (isGranted(known, question) ? BY_GRANT : null);
    const answer = before ?? (await deps.permissions.ask(question, stop.signal));
    if (open.get(id)?.stop !== stop) return;
    open.delete(id);
    answered(op, id, answer);
    await tell(id, answer);
  };

  return {
    taken(event, worker) {
      const asked = questionSchema.parse(event.question);
      const { asked: all } = deps.memory.permissions;
      const same = all.get(asked.id);
      if (same !== undefined && (same.op !== event.op || same.question.agent !== deps.agent)) {
        throw new Error(`Question ${asked.id} is another call's.`);
      }
      const { timeoutMs } = deps.permissions;
      const { paths, host, ...rest } = asked;
      const question: Question = {
        ...rest,
        reasons: [...rest.reasons, `it is done by the worker ${worker}`],
        // "The same" is what the same agent asks again with its worker.
        argsHash: `${deps.agent ?? ''} ${rest.argsHash}`,
        ...(deps.agent === undefined ? {} : { agent: deps.agent }),
        ...(paths === undefined ? {} : { paths: paths.map((path) => shownPath(path, deps.root)) }),
        ...(host === undefined ? {} : { host }),
        relayed: true,
        ...(timeoutMs === null ? {} : { expiresAt: deps.now() + timeoutMs }),
      };
      return { ...event, question: scrubJson(question, deps.scrub) };
    },
    follow(event) {
      if (event.type === 'perm.ask') void put(event.op, event.question).catch(deps.broken);
      else if (event.type === 'tool.done') close((op) => op === event.op);
    },
    resume(events) {
      const over = new Set(events.flatMap((event) => (event.type === 'tool.done' ? [event.op] : [])));
      for (const event of events) {
        if (event.type !== 'perm.ask' || event.question.relayed !== true || over.has(event.op)) continue;
        if (open.has(event.question.id)) continue;
        const { op, question } = event;
        const answer = events.find((one) => one.type === 'perm.answer' && one.questionId === question.id);
        const again = answer?.type === 'perm.answer' ? tell(question.id, answer) : put(op, question);
        again.catch(deps.broken);
      }
    },
    close: () => close(() => true),
  };
}

const BY_GRANT: PermissionAnswer = { decision: 'allow', by: 'session' };

/**
 * A place outside is one of the worker's machine: no answer about such a place here covers it, and none about it covers one here. What an answer
 * would cover here is judged by its name, whatever the worker says of it.
 */
function shownPath(
  { path, outside, why, access, under }: NonNullable<z.infer<typeof questionSchema>['paths']>[number],
  root: string,
): QuestionPath {
  if (outside || access === undefined) return { path, outside, why };
  const isInside = (place: string): boolean => place === root || normalize(place).startsWith(`${root}/`);
  if (!isInside(path) || !isInside(under ?? path)) return { path, outside: true, why };
  return { path, outside, why, access, ...(under === undefined ? {} : { under }) };
}
