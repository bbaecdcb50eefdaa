// Text on its way into the editor, which draws what stands in it as it is: what was pasted, what waits in the queue, what was typed before.

/** Controls that are no line's end or tab, and whole escape sequences. */
const CONTROLS =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

export const typeable = (text: string): string => text.replace(CONTROLS, '');

const PASTE = /^\u001b\[200~([^]*)\u001b\[201~$/;
/** No key is one of these: they come in what is pasted where the terminal puts no brackets around it. */
const C1 = /[\u0080-\u009f]/g;

/** A key as it came; of a paste, what may be in it. Terminals send its line ends as they like, some as the key of Ctrl-J. */
export function typeableKey(data: string): string {
  const pasted = PASTE.exec(data)?.[1];
  if (pasted === undefined) return data.replace(C1, '');
  return `\u001b[200~${typeable(pasted.replace(/\u001b\[106;5u/g, '\n'))}\u001b[201~`;
}
