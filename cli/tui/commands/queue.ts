// /queue: the messages that wait, to edit, move, remove, or to say to the message that runs.

import { basename } from 'node:path';
import { cleanLine } from '../../../shared/clean-text.ts';
import { UserError } from '../../../shared/outcome.ts';
import type { QueuedMessage } from '../../../shared/state.ts';
import { markOf, pathsIn } from '../../message-images.ts';
import type { Desk } from '../desk.ts';
import { typeable } from '../typeable.ts';
import type { SlashCommand } from './command.ts';
import { sendMessage } from './typed.ts';

export const queueCommands: readonly SlashCommand[] = [
  { name: 'queue', help: 'the messages that wait: edit, move, remove, say now', run: showQueue },
];

async function showQueue(desk: Desk): Promise<void> {
  const { odin, session } = desk;
  await session.refreshQueue();
  const queue = session.queue();
  if (queue.length === 0) return desk.say('no message waits');
  const again = (doing: Promise<void>) =>
    void doing.then(
      () => showQueue(desk),
      (error: Error) => {
        desk.closePicker();
        desk.say(cleanLine(error.message), 'bad');
      },
    );
  desk.pick({
    title: `${queue.length} ${queue.length === 1 ? 'message waits' : 'messages wait'}`,
    items: queue.map(({ seq, mode, body, steered }) => ({
      value: String(seq),
      label: `${mode}  ${body}`.slice(0, 200),
      ...(steered === true ? { description: 'told with the next step' } : {}),
    })),
    enter: 'edits',
    keys: {
      'ctrl+d': {
        label: 'Ctrl-D removes',
        act: (value) => again(odin.removeQueued(session.sid(), Number(value)).then(() => closeIfLast(desk))),
      },
      'ctrl+s': { label: 'Ctrl-S says it now', act: (value) => again(session.steer(Number(value))) },
      'ctrl+p': { label: 'Ctrl-P earlier', act: (value) => again(moveUp(desk, Number(value))) },
    },
    onPick: (value) => void takeBack(desk, Number(value)).catch((error: Error) => desk.say(error.message, 'bad')),
  });
}

async function closeIfLast(desk: Desk): Promise<void> {
  await desk.session.refreshQueue();
  if (desk.session.queue().length === 0) desk.closePicker();
}

async function moveUp({ odin, session }: Desk, seq: number): Promise<void> {
  const queue = session.queue();
  const before = queue[queue.findIndex((one) => one.seq === seq) - 1];
  if (before !== undefined) await odin.swapQueued(session.sid(), seq, before.seq);
}

/** Out of the queue and into the editor; sent again it is queued at the end. */
async function takeBack(desk: Desk, seq: number): Promise<void> {
  const { odin, session, editor } = desk;
  const found = session.queue().find((one) => one.seq === seq);
  if (found === undefined) throw new UserError('this message has begun meanwhile');
  await odin.removeQueued(session.sid(), seq);
  desk.setMode(found.mode);
  const body = typeable(withMarks(desk, found));
  editor.setText(editor.getText() === '' ? body : `${body}\n${editor.getText()}`);
  await session.refreshQueue();
  desk.redraw();
}

/** The text with a mark for each picture that it would not take along by itself. */
function withMarks({ pictures }: Desk, { body, images = [] }: QueuedMessage): string {
  const named = new Set(pathsIn(body).map(({ path }) => basename(path)));
  const marks = images.flatMap((image) => {
    const mark = markOf(image);
    pictures.set(mark, image);
    return named.has(image.name) || body.includes(mark) ? [] : [mark];
  });
  return [body, ...marks].join(' ');
}

export async function editLastQueued(desk: Desk): Promise<void> {
  const last = desk.session.queue().at(-1);
  if (last === undefined) return desk.hint('no message waits');
  await takeBack(desk, last.seq);
}

/** To the message that runs: what stands in the editor, else the first message that waits. If it ends first, that waits on. */
export async function sayNow(desk: Desk): Promise<void> {
  const { editor, session } = desk;
  const text = editor.getExpandedText();
  if (/^[/!#]/.test(text)) return desk.hint('Enter carries it out; Ctrl-S is for messages');
  if (session.view().running === null) return desk.hint('nothing runs: Enter sends');
  if (text.trim() === '') {
    await session.refreshQueue();
    const first = session.queue().find(({ steered }) => steered !== true);
    return first === undefined ? desk.hint('no message waits') : await session.steer(first.seq);
  }
  desk.took(text);
  const seq = await sendMessage(desk, text);
  if (seq !== null && session.queue().some((one) => one.seq === seq)) await session.steer(seq);
}
