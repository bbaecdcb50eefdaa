// A process that submits messages, each twice, and wakes the queue, as another terminal would.
// Arguments: REDIS_URL or '', home, workspace, session ids with commas, first message number, messages per session.

import { openBlobs } from '../../orchestrator/blobs.ts';
import { openInbox } from '../../orchestrator/inbox.ts';
import { openTurnQueue } from '../../orchestrator/queue.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { MODES } from '../../shared/modes.ts';

const [home = '', ws = '', sids = '', from = '', count = ''] = process.argv.slice(2);
const handle = await connectRedis({ home, notice: () => {} });
const inbox = openInbox(handle.client, openBlobs(home), ws, '/project');
const queue = await openTurnQueue(handle, ws, (error) => {
  throw error;
});
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
for (let i = 0; i < Number(count); i++) {
  for (const sid of sids.split(',')) {
    const mid = `${from}.${i}`;
    const mode = MODES[i % MODES.length] ?? 'ask';
    for (;;) {
      try {
        const message = { sid, mid, mode, body: `${from}.${i}`, limits: {}, create: true };
        const submitted = await Promise.all([inbox.submit(message), inbox.submit(message)]);
        await Promise.all(submitted.map(async ({ wake }) => (wake === null ? undefined : queue.add(wake))));
        break;
      } catch (error) {
        // The inbox is full: what a person would do.
        if (!(error instanceof Error) || !error.message.includes('messages waiting')) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
await queue.close();
await handle.close();
process.exit(0);
