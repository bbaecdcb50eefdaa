// Questions in a terminal (SPEC O24, G6): one on screen at a time, the others wait. What is typed is the answer; one that was answered
// elsewhere closes by itself. The answer goes through the orchestrator: the terminal keeps nothing.

import type { Odin, SeenQuestion } from '../orchestrator/api.ts';
import { cleanLine } from '../shared/clean-text.ts';
import { MAIN_AGENT, type PermissionDecision } from '../shared/events.ts';
import { UserError } from '../shared/outcome.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import { type AskedEvent, askedOf, choicesLine } from './question-text.ts';
import type { Renderer } from './render-plain.ts';

export interface Asker extends Renderer {
  /** A question is on the screen and waits for what is typed. */
  isOpen(): boolean;
  /** What comes next is a line of text, not a key. */
  wantsLine(): boolean;
  take(text: string): void;
  /** A question of another session that runs here. */
  see(seen: SeenQuestion): void;
}

/** Hands what the orchestrator sees on to the asker that is on screen now. */
export interface QuestionFeed {
  asker: Asker | null;
}

export interface AskerOptions {
  readonly odin: Pick<Odin, 'answer'>;
  /** Shows the questions. */
  readonly display: Renderer;
  /** Shows everything else, and the questions' events too when it is another one. */
  readonly rest: Renderer;
  write(text: string): void;
  /** A question opened or closed, or wants a line now. */
  onChange?(): void;
}

const DECISIONS: Readonly<Record<string, PermissionDecision>> = {
  y: 'allow',
  yes: 'allow',
  s: 'allow_session',
  a: 'allow_always',
  n: 'deny',
  no: 'deny',
};

/** A renderer that holds questions back until it is their turn. */
export function createAsker({ odin, display, rest, write, onChange = () => {} }: AskerOptions): Asker {
  const line: AskedEvent[] = [];
  let phase: 'choice' | 'word' | 'sent' = 'choice';

  const enter = (next: typeof phase) => {
    phase = next;
    onChange();
  };
  const present = () => {
    const question = line[0];
    if (question) {
      display.show(question);
      write(`  ${choicesLine(question)}\n`);
    }
    enter('choice');
  };
  const remove = (gone: (question: AskedEvent) => boolean) => {
    const first = line[0];
    line.splice(0, line.length, ...line.filter((question) => !gone(question)));
    if (first !== undefined && line[0] !== first) present();
  };
  const send = (question: AskedEvent, decision: PermissionDecision, word?: string) => {
    enter('sent');
    odin
      .answer(question.questionId, decision, { by: 'terminal', ...(word ? { word } : {}) })
      .catch((error: unknown) => {
        if (!(error instanceof UserError)) write(`  the answer did not get through: ${cleanLine(String(error))}\n`);
        remove((other) => other === question);
      });
  };

  const show = (event: StreamEvent): void => {
    if (event.type === 'PermissionAsked') {
      if (rest !== display && event.id !== null) rest.show(event);
      if (line.some(({ questionId }) => questionId === event.questionId)) return;
      if (line.push(event) === 1) present();
      return;
    }
    const isCurrent = event.type !== 'PermissionAnswered' || line[0]?.questionId === event.questionId;
    // What `see` brings is no event of the session that is shown.
    const target = event.type === 'PermissionAnswered' && event.id === null ? display : rest;
    if (isCurrent || target !== display) target.show(event);
    if (event.type === 'PermissionAnswered') remove(({ questionId }) => questionId === event.questionId);
    if (event.type === 'AgentDone') remove(({ session, seq }) => session === event.session && seq === event.seq);
  };

  return {
    isOpen: () => line.length > 0 && phase !== 'sent',
    wantsLine: () => line.length > 0 && phase === 'word',
    take(text) {
      const question = line[0];
      const said = text.trim();
      if (!question || phase === 'sent') return;
      if (phase === 'word') return send(question, 'deny', said);
      const decision = Object.hasOwn(DECISIONS, said.toLowerCase()) ? DECISIONS[said.toLowerCase()] : undefined;
      const word = /^w\s+(\S.*)$/is.exec(said)?.[1];
      if (word !== undefined) return send(question, 'deny', word);
      if (said.toLowerCase() === 'w') {
        write('  what should it know? ');
        return enter('word');
      }
      if (decision === undefined || (decision === 'allow_always' && question.rule === null)) {
        if (said !== '') write(`  ${choicesLine(question)}\n`);
        return;
      }
      send(question, decision);
    },
    show,
    see({ sid, question, answer }) {
      const place = { session: sid, id: null, at: Date.now(), seq: 0 };
      const agent = `${question.agent ?? MAIN_AGENT} of session ${sid}`;
      if (answer === null) return show({ ...place, type: 'PermissionAsked', ...askedOf({ ...question, agent }) });
      show({ ...place, type: 'PermissionAnswered', questionId: question.id, decision: answer.decision, by: answer.by });
    },
  };
}

/** Reads single keys from a terminal while a question is open, and a line where one is wanted. Call `update` at each change. */
export function keysFor(input: NodeJS.ReadStream, asker: () => Asker): { update(): void; close(): void } {
  let isReading = false;
  const onData = (data: Buffer) => {
    const text = data.toString('utf8');
    if (asker().wantsLine()) return asker().take(text);
    for (const key of text) {
      // A raw terminal hands over Ctrl-C as a character; it stays what it is.
      if (key === '\u0003') process.kill(process.pid, 'SIGINT');
      else if (asker().isOpen() && !asker().wantsLine()) asker().take(key);
    }
  };
  const close = () => {
    if (!isReading) return;
    isReading = false;
    input.off('data', onData).setRawMode(false).pause();
  };
  return {
    update() {
      if (!asker().isOpen()) return close();
      input.setRawMode(!asker().wantsLine());
      if (isReading) return;
      isReading = true;
      input.on('data', onData).resume();
    },
    close,
  };
}
