// Which session is on the screen, when another one is opened while the first is still being read.

import { expect, test } from '@jest/globals';
import { createSession } from '../../../cli/tui/session.ts';
import type { Odin } from '../../../orchestrator/api.ts';
import type { QueuedMessage } from '../../../shared/state.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';

test('G1: what is still on its way from a session that was left, events and queue, does not get into the next one', async () => {
  const [read, asked, left] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const body = 'of the first session';
  const at = { session: 'A', id: '1-1', at: 1, seq: 1 };
  const started: StreamEvent = { ...at, type: 'MessageStarted', mode: 'edit', body, model: 'm/model' };
  const odin: Pick<Odin, 'follow' | 'queued' | 'submit' | 'steer'> = {
    async *follow() {
      try {
        await read?.promise;
        yield started;
      } finally {
        left?.resolve();
      }
    },
    async queued() {
      await asked?.promise;
      return [{ seq: 2, mid: 'm', mode: 'edit', body, timestamp: 1 } satisfies QueuedMessage];
    },
    submit: () => Promise.reject(new Error('nothing is sent here')),
    steer: () => Promise.reject(new Error('nothing is sent here')),
  };
  const session = createSession(odin, () => {});
  session.open('A', false);
  const refreshed = session.refreshQueue();
  session.open('B', true);
  read?.resolve();
  asked?.resolve();
  await Promise.all([left?.promise, refreshed]);
  expect(session.sid()).toBe('B');
  expect(session.view().turns).toEqual([]);
  expect(session.queue()).toEqual([]);
  await session.close();
});
