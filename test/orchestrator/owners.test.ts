// Who owns a workspace, and what the next owner makes of what the last one left (DURABILITY 5, 6; 15, tests 7, 18 and 23), with real
// processes that are killed.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Script, ScriptedAnswer, ScriptedApi, ScriptedTurn } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { sendControl } from '../../orchestrator/control.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { keys, workspaceId } from '../../orchestrator/keys.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import { takeLease } from '../../orchestrator/workspace-lease.ts';
import { Fenced } from '../../shared/ports.ts';
import { danglingIn } from '../support/balanced-request.ts';
import type { OwnerOrder } from '../support/owner-child.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';
import { startTestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

interface Stage {
  readonly project: string;
  readonly ws: string;
  readonly handle: RedisHandle;
  readonly server: ScriptedServer;
  start(more?: Partial<OwnerOrder>): OwnerChild;
  typesOf(sid: string): Promise<readonly string[]>;
}

async function onStage(scriptFor: (project: string) => Script, play: (stage: Stage) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-owners-'));
  const [project, home] = [join(folder, 'project'), join(folder, 'home')];
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), 'text\n');
  const server = await startScriptedServer({ script: scriptFor(project) });
  const handle = await connectRedis({ home, notice: () => {} });
  const owners: OwnerChild[] = [];
  try {
    await play({
      project,
      ws: workspaceId(project, handle.scope),
      handle,
      server,
      start(more) {
        const owner = startOwner({ url: server.url, project, home, ...more });
        owners.push(owner);
        return owner;
      },
      typesOf: async (sid) => (await readLog(handle.client, sid, '0')).map(({ event }) => event.type),
    });
  } finally {
    await Promise.all(owners.map((owner) => owner.end()));
    await handle.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const count = (types: readonly string[], type: string): number => types.filter((one) => one === type).length;

test('DURABILITY 15.23: of three Odins that start at the same instant one owns the project; each message runs once', async () => {
  await onStage(
    () => (turn) => ({ text: `heard ${turn.userText.split('\n')[0]}` }),
    async ({ start, typesOf }) => {
      const three = [start(), start(), start()];
      const opened = await Promise.all(three.map((odin) => odin.line(/^open/)));
      expect(opened.toSorted()).toEqual(['open false', 'open false', 'open true']);
      const sids = await Promise.all(three.map((odin, n) => odin.submit({ body: `message ${n}` })));
      await Promise.all(three.map((odin, n) => odin.line(new RegExp(`^done ${sids[n]} completed heard message ${n}`))));
      for (const sid of sids) {
        const types = await typesOf(sid);
        expect([count(types, 'claim'), count(types, 'msg.done')]).toEqual([1, 1]);
      }
    },
  );
});

test('DURABILITY 6: an owner that this machine cannot see is waited for until it has been silent for a lease, and no longer', async () => {
  await onStage(
    () => () => ({ text: 'taken over' }),
    async ({ start, handle, ws }) => {
      const who = JSON.stringify({ pid: 1, startTime: 'then', host: 'elsewhere', helper: null });
      await handle.client.hset(keys.workspace(ws).owner, { id: 'other', who, beat: '7' });
      const odin = start({ leaseMs: 2_000 });
      await odin.line(/^notice This project is run by the Odin on elsewhere \(process 1\)/);
      await odin.line(/^open false/);
      const sid = await odin.submit({ body: 'anybody there?' });
      await odin.line(new RegExp(`^done ${sid} completed taken over`));
      expect(odin.lines.findIndex((line) => line.includes('has not answered for 2 s'))).toBeGreaterThan(0);
    },
  );
});

test('DURABILITY 6: who wakes up and finds the workspace in other hands begins nothing more, and leaves the other alone', async () => {
  const redis = await startTestRedis();
  try {
    const { client } = redis.handle;
    const events: string[] = [];
    const told = {
      onDoubt: () => void events.push('doubt'),
      onBack: () => void events.push('back'),
      onLost: () => void events.push('lost'),
      log: () => {},
    };
    const taken = await takeLease(client, 'ws', told, { leaseMs: 2_000 });
    if (taken.status !== 'ok') throw new Error('It is held.');
    expect(taken.lease.sure()).toBeNull();
    const { owner, pending } = keys.workspace('ws');
    const former = (await client.hget(owner, 'id')) ?? '';
    const who = JSON.stringify({ pid: process.pid, startTime: 'another', host: 'elsewhere', helper: null });
    expect((await client.olease([owner, pending], ['next', who, 1, ''])).slice(0, 2)).toEqual(['held', former]);
    expect(await client.olease([owner, pending], ['next', who, 1, former])).toEqual(['ok', 0]);
    // It sleeps, as it would under SIGSTOP: no timer runs.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    await expect(taken.lease.sure()).rejects.toThrow(Fenced);
    expect(events).toEqual(['lost']);
    await taken.lease.drop();
    expect(await client.hget(owner, 'id')).toBe('next');
  } finally {
    await redis.close();
  }
});

test('DURABILITY 15.18: cancelled while nobody owns it, after a kill -9: the next owner ends it before any new effect', async () => {
  const asked = Promise.withResolvers<void>();
  const script =
    (project: string) =>
    (turn: ScriptedTurn): ScriptedAnswer | Promise<ScriptedAnswer> => {
      if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'LS', args: { path: project } }] };
      const write = { name: 'WriteFile', args: { file_path: join(project, 'new.txt'), content: 'deadly\n' } };
      asked.resolve();
      return { toolCalls: [write] };
    };
  await onStage(script, async ({ start, project, handle, ws, server, typesOf }) => {
    const first = start({ dieOn: 'deadly' });
    const sid = await first.submit({ body: 'go' });
    await asked.promise;
    await first.exited;
    const requests = server.requests.length;
    await sendControl(handle.client, ws, sid, { type: 'cancel', seq: 1, by: 'test' });
    const second = start();
    await second.submit({ sid });
    await second.line(new RegExp(`^done ${sid} cancelled`));
    expect(existsSync(join(project, 'new.txt'))).toBe(false);
    expect(server.requests).toHaveLength(requests);
    expect(count(await typesOf(sid), 'cancel')).toBe(1);
    await until(async () => (await handle.client.xlen(keys.workspace(ws).ctl)) === 0);
  });
});

const APIS: readonly ScriptedApi[] = ['anthropic', 'responses', 'chat'];

test.each(APIS)(
  'E14 DURABILITY 5.5: killed with calls open, the next request has one result for each call (%s)',
  async (api) => {
    const script =
      (project: string) =>
      (turn: ScriptedTurn): ScriptedAnswer => {
        if (turn.stepOfMessage > 0) return { text: 'closed' };
        const write = (name: string) => ({
          name: 'WriteFile',
          args: { file_path: join(project, name), content: `${name}\n` },
        });
        return { toolCalls: [write('first.txt'), write('deadly.txt'), { name: 'LS', args: { path: project } }] };
      };
    await onStage(script, async ({ start, project, server, typesOf }) => {
      const first = start({ api, dieOn: 'deadly' });
      const sid = await first.submit({ body: 'go' });
      await first.exited;
      const second = start({ api });
      await second.submit({ sid });
      await second.line(new RegExp(`^done ${sid} completed closed`));
      const last = server.requests.at(-1)?.body ?? '';
      expect(danglingIn(api, last)).toEqual([]);
      expect(last).toContain('deadly.txt');
      expect(count(await typesOf(sid), 'tool.done')).toBe(3);
      expect(existsSync(join(project, 'deadly.txt'))).toBe(true);
    });
  },
);
