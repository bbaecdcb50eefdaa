// The end of a message in plan mode: the plan is accepted (edit mode carries it out), changed, or dropped.

import { cleanLine } from '../../../shared/clean-text.ts';
import type { Desk } from '../desk.ts';

/** What the model is told; the plan is the answer before it. */
const ACCEPTED = 'The plan above is accepted. Carry it out.';

const AGAIN_MS = 300;

export function offerPlan(desk: Desk): void {
  if (desk.session.queue().length > 0 || desk.editor.getText() !== '') return;
  // A key that was meant for the editor must not accept it.
  if (desk.isTyping()) return void setTimeout(() => offerAgain(desk), AGAIN_MS);
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

/** Unless something has begun meanwhile. */
function offerAgain(desk: Desk): void {
  if (desk.session.view().ended?.mode === 'plan') offerPlan(desk);
}
