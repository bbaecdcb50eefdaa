// The end of a message in plan mode: the plan is accepted (edit mode carries it out), changed, or dropped.

import { cleanLine } from '../../../shared/clean-text.ts';
import type { Desk } from '../desk.ts';

/** What the model is told; the plan is the answer before it. */
const ACCEPTED = 'The plan above is accepted. Carry it out.';

const AGAIN_MS = 300;

/** Offers each plan once: by the number of its message. */
export function createPlanOffer(desk: Desk): () => void {
  let offered = '';
  /** Null: there is none, or not now. */
  const due = (): string | null => {
    const { ended } = desk.session.view();
    if (ended?.mode !== 'plan' || ended.status !== 'completed' || desk.editor.getText() !== '') return null;
    const plan = `${desk.session.sid()}.${ended.seq}`;
    return plan === offered ? null : plan;
  };
  const offer = async (): Promise<void> => {
    if (due() === null) return;
    // What the screen knows of the queue may be from before this message began.
    await desk.session.refreshQueue();
    const plan = due();
    if (plan === null || desk.session.queue().length > 0) return;
    // A key that was meant for the editor must not accept it.
    if (desk.isTyping()) return void setTimeout(() => void offer(), AGAIN_MS);
    offered = plan;
    choose(desk);
  };
  return () => void offer();
}

function choose(desk: Desk): void {
  desk.pick({
    title: 'What becomes of the plan?',
    items: [
      { value: 'accept', label: 'accept it', description: 'changes to edit mode and carries it out' },
      { value: 'change', label: 'change it', description: 'say what should be different' },
      { value: 'drop', label: 'drop it', description: 'nothing is done' },
    ],
    onPick(value) {
      if (value === 'accept') {
        desk.setMode('edit');
        desk.submit(ACCEPTED, 'edit').catch((error: Error) => desk.say(cleanLine(error.message), 'bad'));
      } else if (value === 'change') {
        desk.setMode('plan');
        desk.hint('say what should be different');
      } else desk.say('the plan was dropped; it stays in the conversation');
    },
  });
}
