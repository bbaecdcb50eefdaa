// `odin attach`: follows a session that another process runs. Ctrl-C leaves it running.

import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { onInterrupt } from '../interrupts.ts';
import { outputGone } from '../output-gone.ts';
import { isTerminal } from '../permission-options.ts';
import { placeHere, withOdin } from '../place.ts';
import { rendererFor } from '../renderers.ts';

export async function attach(session: string, options: { readonly json?: boolean }): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    const state = await odin.state(sid);
    const running = state.messages.find((message) => message.status === 'running');
    const leave = new AbortController();
    const offInterrupt = onInterrupt(() => leave.abort());
    const signal = AbortSignal.any([leave.signal, outputGone]);
    const answering = isTerminal();
    const renderer = rendererFor(odin, { json: options.json ?? false, showPrompts: true, answering });
    const what = running === undefined ? 'nothing runs in it now' : `message ${running.seq} is running`;
    process.stderr.write(`following session ${sid}: ${what}. Ctrl-C leaves it as it is.\n`);
    try {
      for await (const event of odin.follow(sid, { from: running === undefined ? state.upTo : '0', signal })) {
        if (running === undefined || event.seq >= running.seq) renderer.show(event);
      }
    } finally {
      renderer.close();
      offInterrupt();
    }
    return EXIT.completed;
  });
}
