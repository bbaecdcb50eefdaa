// `odin workers`: which workers there are, where, and what they do.

import { beat } from '../../orchestrator/jobs/workers.ts';
import { timeText } from '../../shared/amount-text.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { tell, withBatches } from '../batches.ts';
import { EXIT } from '../exit-codes.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

/** Two signs of life are missing. */
const SILENT_MS = 6_000;

export async function listWorkers({ json }: { readonly json?: boolean }): Promise<number> {
  const workers = await withBatches(({ handle }) => beat(handle.client, null));
  if (json === true) for (const worker of workers) process.stdout.write(jsonLine(worker));
  else if (workers.length === 0) tell('No worker is there. `odin worker` starts one.');
  else {
    const rows = workers.map(
      ({ id, host, pid, version, roles, running, concurrency, done, since, draining, silentMs, roots }) => [
        id,
        `${cleanLine(host, 40)}:${pid}`,
        version,
        roles.join(','),
        `${running}/${concurrency}`,
        String(done),
        timeText(Date.now() - since),
        silentMs > SILENT_MS ? `silent for ${timeText(silentMs)}` : draining ? 'draining' : 'up',
        cleanLine(roots.join(', '), 80),
      ],
    );
    process.stdout.write(
      table([['WORKER', 'WHERE', 'VERSION', 'ROLES', 'RUNNING', 'DONE', 'AGE', 'STATE', 'PROJECTS'], ...rows]),
    );
  }
  return EXIT.completed;
}
