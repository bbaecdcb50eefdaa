// The process that runs one message and nothing else (DURABILITY 0.9): it is told which one on its stdin, runs it under the eyes of the
// owner of the workspace (quarantine.ts), and leaves when that stdin ends, as it does when the owner dies.

import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Fenced } from '../shared/ports.ts';
import { type AloneOrder, aloneOrderSchema } from './alone-order.ts';
import type { ModelPair, OpenOptions } from './api.ts';
import { createOwnership } from './ownership.ts';
import { openWorld } from './world.ts';

/** Its exit code: 0 unless something broke, whatever became of the message. `open` makes the options of what it is told. */
export async function runAlone(
  input: Readable,
  open: (order: AloneOrder) => Promise<OpenOptions & { readonly models: ModelPair }>,
): Promise<number> {
  const gone = new AbortController();
  const lines = createInterface({ input });
  lines.once('close', () => gone.abort());
  const told = await new Promise<string | null>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(null));
  });
  if (told === null) return 0;
  const order = aloneOrderSchema.parse(JSON.parse(told));
  const options = await open(order);
  const world = await openWorld(options);
  const ownership = createOwnership(world);
  try {
    await ownership.runAlone(options.models, order.turn, gone.signal);
    return 0;
  } catch (error) {
    // Another process has the message, or the owner has left: nothing broke.
    if (error instanceof Fenced) return 0;
    throw error;
  } finally {
    world.leave();
    lines.close();
    await world.close();
  }
}
