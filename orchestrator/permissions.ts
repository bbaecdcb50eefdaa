// The questions that wait in this process (SPEC O23, O24): each has one answer, whoever gives it first, in time or not at all. What is
// asked and answered is in the journal (permissions-memory.ts); showing questions, one at a time, is the clients'.

import { isGranted, isProtected, NO_PERMISSIONS } from '../agent/permissions-memory.ts';
import type { PermissionDecision, Question } from '../shared/events.ts';
import type { PermissionAnswer, PermissionPort } from '../shared/ports.ts';
import type { PermissionPolicy, SeenQuestion } from './api.ts';

export interface Permissions {
  forSession(sid: string): PermissionPort;
  /** Gives the answer to a question that waits here; false when none does. */
  answer(sid: string, questionId: string, answer: PermissionAnswer): boolean;
  /** What waits here; some of it is not durable yet, and can be answered all the same. */
  waiting(): readonly (Question & { readonly sid: string })[];
}

export interface PermissionsDeps {
  readonly policy: PermissionPolicy;
  /** An answer that came before the question was asked again. A person gave it, so it holds whatever the policy. */
  early(sid: string, questionId: string): PermissionAnswer | null;
  /** Told when a question begins to wait, and when its answer is there. */
  watch(seen: SeenQuestion): void;
  /** Keeps a rule for later sessions. */
  storeRule(rule: string): Promise<void>;
}

const denied = (by: 'nobody' | 'timeout' | 'cancelled'): PermissionAnswer => ({ decision: 'deny', by });

export function createPermissions({ policy, early, watch, storeRule }: PermissionsDeps): Permissions {
  const waiting = new Map<
    string,
    {
      readonly asked: Question & { readonly sid: string };
      readonly answered: Promise<PermissionAnswer>;
      settle(answer: PermissionAnswer): void;
    }
  >();
  const keyOf = (sid: string, id: string): string => `${sid}|${id}`;

  const open = (sid: string, question: Question): Promise<PermissionAnswer> => {
    const key = keyOf(sid, question.id);
    const { timeoutMs } = policy;
    const { promise, resolve } = Promise.withResolvers<PermissionAnswer>();
    const timer = timeoutMs === null ? undefined : setTimeout(() => resolve(denied('timeout')), timeoutMs);
    const answered = promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(key);
    });
    waiting.set(key, { asked: { ...question, sid }, answered, settle: resolve });
    watch({ sid, question, answer: null });
    void answered.then((answer) => watch({ sid, question, answer }));
    return answered;
  };

  /** "Always" is kept before it is acted on; without a rule to keep, it is this once. */
  const kept = async (question: Question, answer: PermissionAnswer): Promise<PermissionAnswer> => {
    if (answer.decision !== 'allow_always') return answer;
    const once: PermissionDecision = 'allow';
    if (question.rule === undefined) return { ...answer, decision: once };
    return storeRule(question.rule).then(
      () => answer,
      () => ({ ...answer, decision: once }),
    );
  };

  return {
    forSession: (sid) => ({
      timeoutMs: policy.timeoutMs,
      isOpen: (id) => waiting.has(keyOf(sid, id)),
      async ask(question, signal) {
        const before = early(sid, question.id);
        if (before) return kept(question, before);
        if (policy.mode === 'accept-edits' && isEditInside(question)) return { decision: 'allow', by: 'accept-edits' };
        if (policy.mode !== 'ask') return denied('nobody');
        if (signal.aborted) return denied('cancelled');
        const key = keyOf(sid, question.id);
        const answered = waiting.get(key)?.answered ?? open(sid, question);
        const gone = Promise.withResolvers<PermissionAnswer>();
        const leave = () => {
          gone.resolve(denied('cancelled'));
          waiting.get(key)?.settle(denied('cancelled'));
        };
        signal.addEventListener('abort', leave, { once: true });
        const answer = await Promise.race([answered, gone.promise]);
        signal.removeEventListener('abort', leave);
        return kept(question, answer);
      },
    }),
    answer(sid, questionId, answer) {
      const open = waiting.get(keyOf(sid, questionId));
      if (!open) return false;
      open.settle(answer);
      if (answer.decision !== 'allow_session' && answer.decision !== 'allow_always') return true;
      // What waits already is covered like what comes: a step's two pages of one host are one question.
      const memory = { ...NO_PERMISSIONS, grants: [open.asked] };
      for (const other of waiting.values()) {
        if (other !== open && other.asked.sid === sid && isGranted(memory, other.asked)) {
          other.settle({ decision: 'allow', by: answer.by });
        }
      }
      return true;
    },
    waiting: () => [...waiting.values()].map(({ asked }) => asked),
  };
}

/** A file tool's write inside the project that neither steers a program nor touches a secret. */
const isEditInside = ({ paths = [] }: Question): boolean =>
  paths.length > 0 &&
  paths.every(({ path, outside, access }) => access === 'write' && !outside && !isProtected(path, access));
