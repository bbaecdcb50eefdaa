// A process that runs turns: claims a message, journals a few events, and says so; with `hang` it then never finishes.

import { openTurnQueue } from '../../orchestrator/queue.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { fakeTurn } from './queue-turn.ts';

const [home = '', ws = ''] = process.argv.slice(2);
const handle = await connectRedis({ home, notice: () => {} });
const queue = await openTurnQueue(handle, ws, () => {});
queue.work(
  fakeTurn(handle, ws, ({ seq }) => {
    process.stdout.write(`running ${seq}\n`);
    return new Promise(() => {});
  }),
);
process.stdin.resume();
