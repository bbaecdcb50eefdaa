// What a reader of the streams gets: all of it, in order, once, however often its line breaks; and answers that bind to what was shown.

import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { archiveSession } from '../../orchestrator/archive-move.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import {
  ask,
  JSON_TYPE,
  logIn,
  openDashboard,
  type Reply,
  readStream,
  type StreamMessage,
} from '../support/dashboard.ts';
import { withWorld } from '../support/odin-world.ts';
import { printedSeed, randomFrom } from '../support/seed.ts';

interface Overview {
  readonly all: boolean;
  readonly complete: boolean;
  readonly sessions: readonly {
    readonly sid: string;
    readonly status: string;
    readonly step: number;
    readonly isRead: boolean;
  }[];
  readonly questions?: readonly { readonly id: string; readonly nonce: string; readonly title: string }[];
}

const eventsOf = (messages: readonly StreamMessage[]) =>
  messages.filter(({ type }) => type === 'events').flatMap(({ data }) => data as StreamEvent[]);
const statesIn = (messages: readonly StreamMessage[]) =>
  messages.filter(({ type }) => type === 'state').map(({ data }) => data);

test('C5 O4: a timeline that breaks anywhere goes on where it stopped: every event of the journal once, in order', async () => {
  const steps = 12;
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage < steps
      ? {
          text: `step ${turn.stepOfMessage}`,
          toolCalls: [{ name: 'LS', args: { path: '.', ignore: [`${turn.requestIndex}`] } }],
        }
      : { text: 'done' };
  await withWorld({ script }, async (world) => {
    const owner = await world.open();
    const sid = owner.newSession();
    await world.ask(owner, sid, { mode: 'ask', body: 'go', limits: { maxSteps: 40 } });
    const stop = new AbortController();
    const whole: StreamEvent[] = [];
    for await (const event of owner.follow(sid, { from: '0', signal: stop.signal })) {
      whole.push(event);
      if (event.type === 'AgentDone') stop.abort();
    }
    let dashboard = await openDashboard(world);
    const headers = await logIn(dashboard);
    const { port } = new URL(dashboard.origin);
    const random = randomFrom(printedSeed('feeds'));
    const seen: StreamEvent[] = [];
    let lastId = '';
    let isRestarted = false;
    while (seen.at(-1)?.type !== 'AgentDone') {
      const most = 1 + random(3);
      const resume: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
      const messages = await readStream(
        dashboard.origin,
        `/api/sessions/${sid}/events`,
        { ...headers, ...resume },
        (got) => got.length >= most || eventsOf(got).at(-1)?.type === 'AgentDone',
      );
      seen.push(...eventsOf(messages.slice(0, most)));
      lastId = messages.slice(0, most).findLast(({ id }) => id !== '')?.id ?? lastId;
      if (seen.length < whole.length / 2) continue;
      if (isRestarted) continue;
      isRestarted = true;
      // Half-way another server takes over on the same port: what the reader shows is good there too.
      await dashboard.close();
      dashboard = await openDashboard(world, { port: Number(port) });
    }
    expect(seen.map(({ id, type }) => [id, type])).toEqual(whole.map(({ id, type }) => [id, type]));
    await dashboard.close();
  });
});

test('C5 O24: the overview says what changed, and an answer holds for the question that was shown to that visitor alone', async () => {
  const script = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.stepOfMessage === 0
      ? { toolCalls: [{ name: 'WriteFile', args: { file_path: '/tmp/odin-dashboard-test/x', content: 'x' } }] }
      : { text: turn.lastToolResults[0]?.text ?? '' };
  await withWorld({ script }, async (world) => {
    const owner = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const dashboard = await openDashboard(world);
    const { origin } = dashboard;
    const visitor = await logIn(dashboard);
    const other = await logIn(dashboard);
    const sid = owner.newSession();
    await owner.submit(sid, { mode: 'edit', body: 'write' });
    const overviewsIn = (messages: readonly StreamMessage[]) =>
      messages.filter(({ type }) => type === 'overview').map(({ data }) => data as Overview);
    const shown = async (headers: Record<string, string>) => {
      const messages = await readStream(origin, '/api/events', headers, (got) =>
        overviewsIn(got).some(({ questions = [] }) => questions.length > 0),
      );
      const overviews = overviewsIn(messages);
      expect(overviews[0]?.all).toBe(true);
      expect(overviews.at(-1)?.sessions.at(-1)).toMatchObject({ sid, status: 'running', step: 1 });
      return overviews.at(-1)?.questions?.[0];
    };
    const mine = await shown(visitor);
    const others = await shown(other);
    expect(mine?.id).toBe(others?.id);
    expect(mine?.nonce).not.toBe(others?.nonce);
    const path = `/api/sessions/${sid}/events`;
    const states = await readStream(origin, path, visitor, (got) => statesIn(got).length > 0);
    expect(statesIn(states)[0]).toBe('acting');
    const answer = (nonce: string | undefined, id = mine?.id) =>
      ask(origin, `/api/questions/${id}/answer`, {
        method: 'POST',
        headers: { ...visitor, ...JSON_TYPE, origin },
        body: JSON.stringify({ decision: 'deny', nonce, word: 'no' }),
      });
    expect((await answer(others?.nonce)).status).toBe(409);
    expect((await answer('')).status).toBe(409);
    expect((await answer(undefined)).status).toBe(400);
    expect((await answer(mine?.nonce, 'another')).status).toBe(409);
    expect(
      (await ask(origin, `/api/questions/${mine?.id}/answer?nonce=${mine?.nonce}`, { headers: visitor })).status,
    ).toBe(404);
    expect((await owner.questions()).map(({ id }) => id)).toEqual([mine?.id]);
    expect((await answer(mine?.nonce)).status).toBe(200);
    const stop = new AbortController();
    for await (const event of owner.follow(sid, { from: '0', signal: stop.signal })) {
      if (event.type === 'PermissionAnswered') expect(event).toMatchObject({ decision: 'deny', by: 'odin dashboard' });
      if (event.type === 'AgentDone') stop.abort();
    }
    const ended = await readStream(origin, path, visitor, (got) => statesIn(got).at(-1) === 'done');
    expect(statesIn(ended).at(-1)).toBe('done');
    await dashboard.close();
  });
});

test('C5: the rows that a page says are in sight are read for it', async () => {
  await withWorld({ script: () => ({ text: 'fine' }) }, async (world) => {
    const redis = await connectRedis({ home: world.home, notice: () => {} });
    const owner = await world.open();
    const sid = owner.newSession();
    await world.ask(owner, sid, { mode: 'ask', body: 'hello' });
    await owner.close();
    expect(await archiveSession({ redis: redis.client, home: world.home }, sid)).toBe('archived');
    const dashboard = await openDashboard(world);
    const { origin } = dashboard;
    const visitor = await logIn(dashboard);
    const view = 'A'.repeat(26);
    const say = () =>
      ask(origin, '/api/view', {
        method: 'POST',
        headers: { ...visitor, ...JSON_TYPE, origin },
        body: JSON.stringify({ view, sids: [sid], away: false }),
      });
    let said: Promise<Reply> | null = null;
    const isReadIn = (messages: readonly StreamMessage[]) =>
      messages
        .filter(({ type }) => type === 'overview')
        .flatMap(({ data }) => (data as Overview).sessions.filter((one) => one.sid === sid))
        .map(({ isRead }) => isRead);
    const messages = await readStream(origin, `/api/events?view=${view}`, visitor, (got) => {
      if (isReadIn(got).includes(false)) said ??= say();
      return isReadIn(got).includes(true);
    });
    expect(isReadIn(messages)).toEqual([false, true]);
    expect((await (said as Promise<Reply> | null))?.status).toBe(200);
    await dashboard.close();
    await redis.close();
  });
});
