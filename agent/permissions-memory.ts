// What the journal knows of questions (SPEC O23, O24): those of the running message that are open, their answers, what was allowed
// for the session, and whose words it has read (taint.ts). A fold, so that a crash forgets nothing and nobody keeps a second list.

import type { JournalEvent, Question } from '../shared/events.ts';
import type { OpId } from '../shared/ids.ts';
import type { PermissionAnswer } from '../shared/ports.ts';
import { coversHost } from '../shared/web-host.ts';
import { isSecretFile, isSteeringPath } from '../tools/protected-paths.ts';
import { foldTaint, NO_TAINT, type Taint } from './taint.ts';

export interface AskedQuestion {
  readonly op: OpId;
  readonly question: Question;
  readonly at: number;
}

export interface PermissionMemory {
  /** Of the running message, by question id. */
  readonly asked: ReadonlyMap<string, AskedQuestion>;
  readonly answers: ReadonlyMap<string, PermissionAnswer>;
  /** The questions that were answered for the whole session. */
  readonly grants: readonly Question[];
  readonly taint: Taint;
}

export const NO_PERMISSIONS: PermissionMemory = { asked: new Map(), answers: new Map(), grants: [], taint: NO_TAINT };

/** The memory after one more event. */
export function foldPermissions(memory: PermissionMemory, event: JournalEvent): PermissionMemory {
  // A subagent works within its parent's session: what it read and was allowed counts there.
  if (event.type === 'agent.ev') return foldPermissions(memory, event.event);
  const question = event.type === 'perm.answer' ? memory.asked.get(event.questionId)?.question : undefined;
  const taint = foldTaint(memory.taint, event, question);
  return foldQuestions(taint === memory.taint ? memory : { ...memory, taint }, event);
}

function foldQuestions(memory: PermissionMemory, event: JournalEvent): PermissionMemory {
  switch (event.type) {
    case 'msg.start':
    case 'msg.done':
      return { ...memory, asked: NO_PERMISSIONS.asked, answers: NO_PERMISSIONS.answers };
    case 'perm.ask': {
      const { op, question, at } = event;
      return { ...memory, asked: new Map(memory.asked).set(question.id, { op, question, at }) };
    }
    case 'perm.answer': {
      const { decision, by, word, questionId } = event;
      const answer = { decision, by, ...(word === undefined ? {} : { word }) };
      const question = memory.asked.get(questionId)?.question;
      const lasts = decision === 'allow_session' || decision === 'allow_always';
      return {
        ...memory,
        answers: new Map(memory.answers).set(questionId, answer),
        grants: question && lasts ? [...memory.grants, question] : memory.grants,
      };
    }
    default:
      return memory;
  }
}

/** Questions of the running message that nobody has answered. */
export const openQuestions = ({ asked, answers }: PermissionMemory): readonly AskedQuestion[] =>
  [...asked.values()].filter(({ question }) => !answers.has(question.id));

/**
 * Whether an answer for the session covers this question too: the same rule, the same folder, or exactly the same question, asked for
 * no reason that was not known then.
 */
export function isGranted(memory: PermissionMemory, question: Question): boolean {
  return memory.grants.some(
    (grant) =>
      (isSame(grant, question) && question.reasons.every((reason) => grant.reasons.includes(reason))) ||
      (question.rule !== undefined && question.rule === grant.rule) ||
      (question.host !== undefined && grant.host !== undefined && coversHost(grant.host, question.host)) ||
      (isAboutFiles(question) && isAboutFiles(grant) && question.paths?.every((path) => coversPath(grant, path))),
  );
}

/** The denial that a person has given to exactly this question earlier in this message. */
export function denialOf(memory: PermissionMemory, question: Question): PermissionAnswer | undefined {
  for (const { question: earlier } of memory.asked.values()) {
    const answer = memory.answers.get(earlier.id);
    if (answer?.decision === 'deny' && !NO_PERSON.has(answer.by) && isSame(earlier, question)) return answer;
  }
  return undefined;
}

/** In whose name Odin itself says no. */
const NO_PERSON: ReadonlySet<string> = new Set(['nobody', 'timeout', 'cancelled']);

/** Entries for AllowedCommands that hold for the session. */
export const grantedRules = ({ grants }: PermissionMemory): readonly string[] =>
  grants.flatMap(({ rule }) => (rule === undefined ? [] : [rule]));

/** Hosts whose pages may be read for the session. */
export const grantedHosts = ({ grants }: PermissionMemory): readonly string[] =>
  grants.flatMap(({ host }) => (host === undefined ? [] : [host]));

/** In words, what "for this session" would allow. */
export function sessionScope(question: Pick<Question, 'rule' | 'paths' | 'host'>): string {
  if (question.host !== undefined) return `pages of ${question.host} and of hosts below it`;
  if (question.rule !== undefined) return `commands that begin with: ${question.rule}`;
  if (!isAboutFiles(question)) return 'exactly this';
  return (question.paths ?? []).map(({ access, under, path }) => `${access} ${under ?? path}`).join(', ');
}

/** Whether a path is one that Odin asks about wherever it lies (SAFETY R9). */
export function isProtected(path: string, access: 'read' | 'write'): boolean {
  const parts = path.split('/').filter((part) => part !== '');
  return isSecretFile(parts.at(-1) ?? '') || (access === 'write' && isSteeringPath(parts));
}

type AskedPath = NonNullable<Question['paths']>[number];

const isSame = (a: Question, b: Question): boolean => a.argsHash === b.argsHash && a.detail === b.detail;

const isAboutFiles = ({ paths = [] }: Pick<Question, 'paths'>): boolean =>
  paths.length > 0 && paths.every(({ access }) => access !== undefined);

function coversPath(grant: Question, asked: AskedPath): boolean {
  return (grant.paths ?? []).some(({ access, under }) => {
    if (under === undefined || access !== asked.access) return false;
    if (under === asked.path) return true;
    return asked.path.startsWith(`${under}/`) && !isProtected(asked.path, access ?? 'write');
  });
}
