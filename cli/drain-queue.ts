// Before a run that owns the workspace leaves: the messages that others sent to its session meanwhile are done (SPEC O6), and so is one that
// runs in another session right now. Leaving would interrupt them.

import type { Odin } from '../orchestrator/api.ts';
import { onInterrupt } from './interrupts.ts';
import { outputGone } from './output-gone.ts';
import type { Renderer } from './render-plain.ts';

/**
 * Shows what follows `endId` in session `own`. Returns when nothing is left. Ctrl-C leaves at once: what is not done stays, and goes on later.
 */
export async function drainQueue(odin: Odin, own: string, endId: string, renderer: Renderer): Promise<void> {
  const leave = new AbortController();
  const offInterrupt = onInterrupt(() => leave.abort());
  const signal = AbortSignal.any([leave.signal, outputGone]);
  const busySession = async () =>
    (await odin.sessions()).find(
      ({ sid, root, status }) => root === odin.root && (status === 'running' || (status === 'queued' && sid === own)),
    )?.sid;
  // What is busy later than these places were read ends behind them, so its end will be seen.
  const seenUpTo = new Map([[own, endId]]);
  try {
    while (odin.owner && !signal.aborted) {
      const sid = await busySession();
      if (sid === undefined) return;
      const from = seenUpTo.get(sid);
      if (from === undefined) {
        seenUpTo.set(sid, (await odin.state(sid)).upTo);
        continue;
      }
      for await (const event of odin.follow(sid, { from, signal })) {
        renderer.show(event);
        if (event.type !== 'AgentDone' || event.id === null) continue;
        seenUpTo.set(sid, event.id);
        break;
      }
    }
  } finally {
    offInterrupt();
  }
}
