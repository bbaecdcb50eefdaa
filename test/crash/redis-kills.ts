// `npm run crash -- redis` (DURABILITY 15, test 8): the private Redis is killed -9 again and again while journals are written; what was
// acknowledged must be there, once. `npm run crash -- claims` (test 7): two owners take one session from each other, ten thousand times.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import type { SessionJournal } from '../../orchestrator/journal-owner.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { ulid } from '../../shared/ids.ts';
import { ask, claimed, inboxOf, update } from '../support/redis-session.ts';
import { killRedis } from './turns.ts';

const WRITERS = 4;
/** Appends that nobody has acknowledged yet, for each writer. */
const IN_FLIGHT = 8;

export async function killRedisUnderLoad(
  folder: string,
  kills: number,
  random: (below: number) => number,
): Promise<{ readonly goals: readonly Goal[]; readonly acknowledged: number }> {
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const handle = await connectRedis({ home, notice: () => {} });
  try {
    const inbox = inboxOf(handle.client, home);
    const sids = Array.from({ length: WRITERS }, () => ulid());
    for (const sid of sids) await inbox.submit(ask(sid, 'hello'));
    const journals = await Promise.all(sids.map((sid) => claimed(handle.client, sid, 1)));
    const acknowledged = sids.map(() => new Map<string, string>());
    let over = false;
    const write = async ({ append }: SessionJournal, known: Map<string, string>, lane: number): Promise<void> => {
      for (let n = 0; !over; n++) {
        const text = `${lane}.${n}`;
        known.set(await append(update(1, text)), text);
      }
    };
    const writers = journals.flatMap(({ journal }, i) =>
      Array.from({ length: IN_FLIGHT }, (_, lane) => write(journal, acknowledged[i] as Map<string, string>, lane)),
    );
    let made = 0;
    for (let before = 0; made < kills; made++) {
      await delay(20 + random(80));
      killRedis(home);
      // It is there again when somebody's append is acknowledged.
      for (before = countOf(acknowledged); countOf(acknowledged) === before; ) await delay(10);
    }
    over = true;
    await Promise.all(writers);
    let [lost, doubled] = [0, 0];
    for (const [i, sid] of sids.entries()) {
      const log = await readLog(handle.client, sid, '0');
      const texts = new Map(
        log.flatMap(({ id, event }) => (event.type === 'update' ? [[id, event.text] as const] : [])),
      );
      for (const [id, text] of acknowledged[i] ?? []) if (texts.get(id) !== text) lost += 1;
      doubled += texts.size - new Set(texts.values()).size;
    }
    return {
      acknowledged: countOf(acknowledged),
      goals: [
        atMost('kills that were not made', kills - made, 0, 'kills'),
        atMost('acknowledged events that are lost', lost, 0, 'events'),
        atMost('events that are there twice', doubled, 0, 'events'),
      ],
    };
  } finally {
    await handle.close();
  }
}

const countOf = (maps: readonly ReadonlyMap<string, string>[]): number => maps.reduce((sum, { size }) => sum + size, 0);

export async function fightForSession(folder: string, claims: number): Promise<readonly Goal[]> {
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const places = await Promise.all([0, 1].map(() => connectRedis({ home, notice: () => {} })));
  const [one, other] = places.map(({ client }) => client);
  if (!one || !other) throw new Error('Two connections were opened.');
  try {
    const sid = ulid();
    await inboxOf(one, home).submit(ask(sid, 'hello'));
    const acknowledged: string[] = [];
    const fight = async (client: typeof one): Promise<void> => {
      let after = '0';
      for (let n = 0; n < claims / 2; n++) {
        const { journal } = await claimed(client, sid, 1, after);
        after = `${journal.epoch}-0`;
        await journal.append(update(1, `${journal.epoch}`)).then(
          (id) => acknowledged.push(id),
          () => {},
        );
      }
    };
    await Promise.all([fight(one), fight(other)]);
    const log = await readLog(one, sid, '0');
    const ids = new Set(log.map(({ id }) => id));
    const owners = log.filter(({ event }) => event.type === 'claim').length;
    const strangers = log.filter(({ id, event }) => event.type === 'update' && event.text !== id.split('-')[0]).length;
    return [
      atMost('claims that are not one line of epochs', claims - owners, 0, 'claims'),
      atMost('acknowledged events that are lost', acknowledged.filter((id) => !ids.has(id)).length, 0, 'events'),
      atMost('events of an owner that was not it any more', strangers, 0, 'events'),
    ];
  } finally {
    for (const place of places) await place.close();
  }
}
