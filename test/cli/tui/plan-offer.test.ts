// When a plan is offered: the screen's knowledge of the queue is a copy, and may be older than the end of the message.

import { expect, test } from '@jest/globals';
import { createPlanOffer } from '../../../cli/tui/commands/plan.ts';
import type { Desk } from '../../../cli/tui/desk.ts';

/** A desk whose screen believes that the plan's message still waits; `inRedis`: what the queue really is. */
function deskThatLags(inRedis: readonly string[]) {
  const picked: string[] = [];
  const looked = Promise.withResolvers<void>();
  let queue: readonly string[] = ['plan it'];
  const desk = {
    session: {
      view: () => ({ ended: { mode: 'plan', status: 'completed', seq: 3 } }),
      sid: () => 's',
      queue: () => queue,
      async refreshQueue() {
        queue = inRedis;
        setImmediate(looked.resolve);
      },
    },
    editor: { getText: () => '' },
    isTyping: () => false,
    pick: ({ title }: { readonly title: string }) => void picked.push(title),
  };
  return { desk: desk as unknown as Desk, picked, looked: looked.promise };
}

test('G1, O1: a plan whose message began and ended before the screen heard that it waits no more is offered, once', async () => {
  const { desk, picked, looked } = deskThatLags([]);
  const offer = createPlanOffer(desk);
  offer();
  offer();
  await looked;
  expect(picked).toEqual(['What becomes of the plan?']);
});

test('G1, O1: a plan behind which another message waits is not offered', async () => {
  const { desk, picked, looked } = deskThatLags(['and then']);
  createPlanOffer(desk)();
  await looked;
  expect(picked).toEqual([]);
});
