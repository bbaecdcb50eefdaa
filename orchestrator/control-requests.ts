// The requests of other processes, taken from the control stream (control.ts) by the process that runs what they are about: cancels,
// answers, what is to be told, words to agents. One leaves the stream once its effect is in the journal; till then it must outlive this process.

import type { PermissionAnswer } from '../shared/ports.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import { type Control, type ControlEntry, openControl } from './control.ts';
import type { Permissions } from './permissions.ts';
import { readOpenQuestions } from './read-open-questions.ts';
import type { SessionRunner } from './session-runner.ts';
import type { World } from './world.ts';

export interface ControlRequests {
  /** Takes them from now on; `only` those that are about one session. */
  listen(runner: SessionRunner, only?: string): Promise<void>;
  /** Who has cancelled a message before it began; null: nobody. */
  cancelledBy(sid: string, seq: number): string | null;
  /** The answer to a question that came before the question was asked again. */
  earlyAnswer(sid: string, questionId: string): PermissionAnswer | null;
  /** What is to be told to a message can only be taken once that runs: it does now. */
  begun(runner: SessionRunner, sid: string): void;
  close(): void;
}

export function createControlRequests(world: World, permissions: () => Permissions): ControlRequests {
  const { handle, ws, log, closing } = world;
  let control: Control | null = null;
  let lastSteer: Promise<void> = Promise.resolve();

  const cancelledBy = (sid: string, seq: number): string | null => {
    const entry = control?.pending(sid).find(({ message }) => message.type === 'cancel' && message.seq === seq);
    if (!entry) return null;
    acknowledge(entry, isCancelOf(seq));
    return entry.message.by;
  };

  const begun = (runner: SessionRunner, sid: string): void => {
    for (const entry of control?.pending(sid) ?? []) {
      const { message } = entry;
      if (message.type === 'steer') stays(entry, takeSteer(runner, entry, message));
    }
  };

  /** What could not be taken is taken by whoever runs the message next. */
  const stays = ({ id }: ControlEntry, taken: Promise<unknown>): void => {
    taken.catch((error: unknown) => log('a request stays', { id, error: String(error) }));
  };

  const listen = async (runner: SessionRunner, only?: string): Promise<void> => {
    control = await openControl(handle, ws, (entry) => {
      if (only === undefined || entry.sid === only) stays(entry, take(runner, entry));
    });
    if (closing.aborted) control.close();
  };

  const take = (runner: SessionRunner, entry: ControlEntry): Promise<void> => {
    const { message } = entry;
    // What was said before an answer is told with the step that the answer lets go on.
    if (message.type === 'answer') return lastSteer.then(() => takeAnswer(entry, message));
    if (message.type === 'cancel') return takeCancel(runner, entry, message);
    if (message.type === 'steer') {
      const taken = takeSteer(runner, entry, message);
      lastSteer = taken.catch(() => {});
      return taken;
    }
    return takeAgentWord(runner, entry, message);
  };

  /** For a subagent: one that has ended meanwhile needs it no more. */
  const takeAgentWord = async (runner: SessionRunner, entry: ControlEntry, message: AgentMessage): Promise<void> => {
    const { agent, by } = message;
    const word =
      message.type === 'agent.say'
        ? ({ type: 'say', text: message.text, by } as const)
        : ({ type: 'cancel', by } as const);
    if (!(await runner.agent(entry.sid, agent, word))) log('a word to an agent came too late', { agent });
    await control?.acknowledge(entry.id);
  };

  /** An answer from another process. One that comes before its question is asked again stays until then. */
  const takeAnswer = async (entry: ControlEntry, message: AnswerMessage): Promise<void> => {
    const { sid } = entry;
    if (permissions().answer(sid, message.questionId, answerOf(message)))
      return acknowledge(entry, isAnswerTo(message));
    const open = await readOpenQuestions(handle.client, sid);
    if (!open.some(({ question }) => question.id === message.questionId)) await control?.acknowledge(entry.id);
  };

  const earlyAnswer = (sid: string, questionId: string): PermissionAnswer | null => {
    for (const entry of control?.pending(sid) ?? []) {
      const { message } = entry;
      if (message.type !== 'answer' || message.questionId !== questionId) continue;
      acknowledge(entry, isAnswerTo(message));
      return answerOf(message);
    }
    return null;
  };

  /** A cancel from another process. One for a message that has not been claimed yet stays until then. */
  const takeCancel = async (runner: SessionRunner, entry: ControlEntry, message: CancelMessage): Promise<void> => {
    const { sid } = entry;
    if (runner.cancel(sid, message.seq, message.by)) return acknowledge(entry, isCancelOf(message.seq));
    const { cursor } = await world.inbox.head(sid);
    if (cursor >= message.seq) await control?.acknowledge(entry.id);
  };

  /**
   * A message of the queue is told to the one that runs. When that has ended meanwhile, it waits like all others; so does what another process
   * has put in its place and cannot be told: pictures, a command.
   */
  const takeSteer = async (runner: SessionRunner, entry: ControlEntry, message: SteerMessage): Promise<void> => {
    const { sid } = entry;
    const { seq, queued, by } = message;
    const found = (await world.inbox.waiting(sid)).find(
      ({ seq: one, options }) => one === queued && !options.images && !options.command,
    );
    if (found) {
      const text = await world.blobs.getPayload(found.body);
      if (runner.steer(sid, seq, { queued, text, by })) {
        log('what waits is told with the next step', { sid, seq, queued });
        return acknowledge(entry, isSteerOf(message));
      }
    }
    const { cursor } = await world.inbox.head(sid);
    if (!found || cursor >= seq) await control?.acknowledge(entry.id);
  };

  /** Once its effect is in the journal: till then it must outlive this process. */
  const acknowledge = (entry: ControlEntry, isEffect: (event: StreamEvent) => boolean): void => {
    const wait = async () => {
      for await (const event of world.bus.subscribe(entry.sid, closing)) {
        if (isEffect(event)) return control?.acknowledge(entry.id);
      }
    };
    stays(entry, wait());
  };

  return { listen, cancelledBy, earlyAnswer, begun, close: () => control?.close() };
}

type AnswerMessage = Extract<ControlEntry['message'], { readonly type: 'answer' }>;
type AgentMessage = Extract<ControlEntry['message'], { readonly type: 'agent.cancel' | 'agent.say' }>;
type CancelMessage = Extract<ControlEntry['message'], { readonly type: 'cancel' }>;
type SteerMessage = Extract<ControlEntry['message'], { readonly type: 'steer' }>;

const isAnswerTo =
  ({ questionId }: AnswerMessage) =>
  (event: StreamEvent): boolean =>
    event.type === 'PermissionAnswered' && event.questionId === questionId;

const isCancelOf =
  (seq: number) =>
  (event: StreamEvent): boolean =>
    event.seq === seq && (event.type === 'CancelRequested' || event.type === 'AgentDone');

const isSteerOf =
  ({ seq, queued }: SteerMessage) =>
  (event: StreamEvent): boolean =>
    event.seq === seq && (event.type === 'AgentDone' || (event.type === 'UserWord' && event.queued === queued));

const answerOf = ({ decision, by, word }: AnswerMessage): PermissionAnswer => ({
  decision,
  by,
  ...(word === undefined ? {} : { word }),
});
