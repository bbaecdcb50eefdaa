// A question to the user as lines (SPEC O23, SAFETY 2.3): who asks, why, which paths lie outside, and the command or the diff with what
// nobody would see made visible. Nothing of it is cut.

import { sessionScope } from '../agent/permissions-memory.ts';
import { cleanLine, cleanText } from '../shared/clean-text.ts';
import { MAIN_AGENT, type Question } from '../shared/events.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import type { Paint } from './paint.ts';

export type AskedEvent = Extract<StreamEvent, { readonly type: 'PermissionAsked' }>;

/** The lines of a question, from the stream or from the list of open ones. */
export function questionLines(
  question: Pick<AskedEvent, 'title' | 'reasons' | 'detail' | 'agent' | 'paths' | 'questionId'>,
  paint: Paint,
): readonly string[] {
  const { title, agent, questionId } = question;
  const outside = question.paths.filter((path) => path.outside);
  return [
    `${paint('yellow', `? ${cleanLine(title)}`)} (asked by ${cleanLine(agent)}, question ${cleanLine(questionId)})`,
    ...question.reasons.map((reason) => `  because ${cleanLine(reason)}`),
    ...outside.map(
      ({ path, why }) => `  ${paint('red', '! outside the project:')} ${cleanLine(path)} (${cleanLine(why)})`,
    ),
    ...cleanText(question.detail)
      .trimEnd()
      .split('\n')
      .map((line) => `  | ${line}`),
  ];
}

/** What "for this session" would allow. */
export function sessionScopeOf({ rule, paths, host }: Pick<AskedEvent, 'rule' | 'paths' | 'host'>): string {
  return sessionScope({ paths, ...(rule === null ? {} : { rule }), ...(host === undefined ? {} : { host }) });
}

/** What can be answered, on one line. */
export function choicesLine(question: Pick<AskedEvent, 'rule' | 'paths' | 'host'>): string {
  const { rule } = question;
  const session = sessionScopeOf(question);
  const always = rule === null ? [] : [`a always (${cleanLine(rule)})`];
  return ['y once', `s for this session (${cleanLine(session)})`, ...always, 'n no', 'w no, and say why'].join(' · ');
}

/** What the event of a question says of it. */
export const askedOf = ({ id, title, reasons, detail, agent, paths, rule, host, expiresAt }: Question) => ({
  questionId: id,
  title,
  reasons,
  detail,
  agent: agent ?? MAIN_AGENT,
  paths: paths ?? [],
  rule: rule ?? null,
  ...(host === undefined ? {} : { host }),
  expiresAt: expiresAt ?? null,
});
