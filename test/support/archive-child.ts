// Archives one session and dies where it is told to.

import { type ArchiveStep, archiveSession } from '../../orchestrator/archive-move.ts';
import { connectRedis } from '../../orchestrator/redis.ts';

export interface ArchiveOrder {
  readonly home: string;
  readonly sid: string;
  readonly dieAt: ArchiveStep;
}

const { home, sid, dieAt } = JSON.parse(process.argv[2] ?? '') as ArchiveOrder;
const handle = await connectRedis({ home, notice: () => {} });
await archiveSession({ redis: handle.client, home }, sid, (step) => {
  if (step === dieAt) process.kill(process.pid, 'SIGKILL');
});
