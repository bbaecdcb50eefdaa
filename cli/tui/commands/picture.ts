// Ctrl-V: the picture in the system's clipboard is kept, and a mark of it stands in the text. It goes with the message that has the mark.

import { cleanLine } from '../../../shared/clean-text.ts';
import { UserError } from '../../../shared/outcome.ts';
import type { Desk } from '../desk.ts';

export async function pastePicture(desk: Desk): Promise<void> {
  const { options, left } = desk;
  desk.hint('looking into the clipboard…');
  await desk.ready();
  const [{ readClipboardPicture }, { markOf, pastedName }] = await Promise.all([
    import('../clipboard.ts'),
    import('../../message-images.ts'),
  ]);
  try {
    const bytes = await readClipboardPicture(options.env, left);
    const image = await desk.odin.keepImage({ name: pastedName(bytes), bytes }, desk.models()?.model ?? '');
    const mark = markOf(image);
    desk.pictures.set(mark, image);
    desk.editor.insertTextAtCursor(`${mark} `);
  } catch (error) {
    if (left.aborted) return;
    if (!(error instanceof UserError)) throw error;
    desk.say(cleanLine(error.message), 'warn');
  } finally {
    desk.hint('');
  }
}
