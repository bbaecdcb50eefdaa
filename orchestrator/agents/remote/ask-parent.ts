// What an agent that works here asks of the Odin whose agent it is: its questions are that one's user's to answer (SPEC O24), and its calls
// of the model wait for that one's word where money or tokens are counted together (SPEC E7). Both wait for as long as somebody listens
// there; when nobody has for long, the answer is no.

import type { PermissionAnswer, PermissionPort } from '../../../shared/ports.ts';
import type { RemoteWord } from './order.ts';

/** What the parent answers with. */
export type ParentsAnswer = Extract<RemoteWord, { readonly k: 'answer' | 'go' }>;

export interface ParentsWord {
  /** Puts questions to the parent's user. */
  readonly permissions: PermissionPort;
  /** The longest answer that a call of the model may have; null: it may not be made, as nobody is there to say so. */
  leave(op: string, attempt: number, signal: AbortSignal): Promise<number | null>;
  /** One that came before it was asked for, or asked for again after a crash, is kept for that. */
  hear(answer: ParentsAnswer): void;
}

/** How often it is looked, while something waits, whether anybody listens. */
const LOOK_MS = 2_000;

const NOBODY: PermissionAnswer = { decision: 'deny', by: 'nobody' };
const CANCELLED: PermissionAnswer = { decision: 'deny', by: 'cancelled' };

/** `isListening` may reject: then it is not known, and what waits goes on waiting. */
export function askParent(isListening: () => Promise<boolean>): ParentsWord {
  const questions = openWaits<PermissionAnswer>();
  const calls = openWaits<number | null>();
  let timer: NodeJS.Timeout | null = null;

  const look = async (): Promise<void> => {
    if (await isListening()) return;
    questions.settleAll(NOBODY);
    calls.settleAll(null);
  };
  /** For as long as anything waits. */
  const watched = async <T>(answer: Promise<T>): Promise<T> => {
    timer ??= setInterval(() => void look().catch(() => {}), LOOK_MS).unref();
    try {
      return await answer;
    } finally {
      if (timer !== null && questions.isIdle() && calls.isIdle()) {
        clearInterval(timer);
        timer = null;
      }
    }
  };

  return {
    permissions: {
      timeoutMs: null,
      isRelayed: true,
      isOpen: (id) => questions.isOpen(id),
      ask: ({ id }, signal) => watched(questions.wait(id, CANCELLED, signal)),
    },
    leave: (op, attempt, signal) => watched(calls.wait(`${op} ${attempt}`, null, signal)),
    hear(answer) {
      if (answer.k === 'go') return calls.settle(`${answer.op} ${answer.attempt}`, answer.maxOutputTokens);
      const { question, decision, by, word } = answer;
      questions.settle(question, { decision, by, ...(word === undefined ? {} : { word }) });
    },
  };
}

/** What waits by name for an answer: the first holds, also for whoever asks later. */
function openWaits<T>() {
  const known = new Map<string, T>();
  const waiting = new Map<string, Set<(answer: T) => void>>();
  const give = (id: string, answer: T): void => {
    for (const resolve of waiting.get(id) ?? []) resolve(answer);
    waiting.delete(id);
  };
  return {
    isOpen: (id: string): boolean => waiting.has(id),
    isIdle: (): boolean => waiting.size === 0,
    settle(id: string, answer: T): void {
      if (!known.has(id)) known.set(id, answer);
      give(id, answer);
    },
    /** These are no answers to keep. */
    settleAll(answer: T): void {
      for (const id of [...waiting.keys()]) give(id, answer);
    },
    wait(id: string, whenAborted: T, signal: AbortSignal): Promise<T> {
      const answer = known.get(id);
      if (answer !== undefined) return Promise.resolve(answer);
      if (signal.aborted) return Promise.resolve(whenAborted);
      return new Promise((resolve) => {
        const settle = (given: T) => {
          signal.removeEventListener('abort', leave);
          resolve(given);
        };
        const leave = () => {
          const others = waiting.get(id);
          others?.delete(settle);
          if (others?.size === 0) waiting.delete(id);
          resolve(whenAborted);
        };
        waiting.set(id, (waiting.get(id) ?? new Set()).add(settle));
        signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}
