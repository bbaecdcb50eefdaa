// The parts of remote subagents that need no agent: what is said through Redis, the connections that listen, the copies.

import { lstatSync, readdirSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NO_PERMISSIONS } from '../../../agent/permissions-memory.ts';
import { foldTaint, NO_TAINT } from '../../../agent/taint.ts';
import { mirror } from '../../../orchestrator/agents/remote/mirror.ts';
import type { RemoteOrder } from '../../../orchestrator/agents/remote/order.ts';
import { relayQuestions } from '../../../orchestrator/agents/remote/relayed-questions.ts';
import { openRemoteAgents } from '../../../orchestrator/agents/remote/remote-agents.ts';
import { entriesOf, openRemoteStore } from '../../../orchestrator/agents/remote/store.ts';
import { workersEvent } from '../../../orchestrator/agents/remote/workers-event.ts';
import { makeCopy } from '../../../orchestrator/agents/remote/working-copy.ts';
import { commitOf } from '../../../orchestrator/batch/git.ts';
import { openBlobs } from '../../../orchestrator/blobs.ts';
import { ensureJobKey } from '../../../orchestrator/jobs/job-key.ts';
import { encode } from '../../../orchestrator/journal-read.ts';
import { keys } from '../../../orchestrator/keys.ts';
import type { OdinRedis, RedisHandle } from '../../../orchestrator/redis.ts';
import type { EventOf, JournalEvent } from '../../../shared/events.ts';
import { ulid } from '../../../shared/ids.ts';
import { git, makeRepository } from '../../support/batch-world.ts';
import { must, openFilesBench } from '../../support/files-bench.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { done, update } from '../../support/redis-session.ts';
import { until } from '../../support/until.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.close());

const ORDER: RemoteOrder = {
  ...{ rid: 'agent', title: 't', mode: 'ask', prompt: 'p', role: '', tools: [], model: 'a/b', fallbackModels: [] },
  ...{ limits: { maxSteps: 1 }, metered: false, root: '/p', base: 'a'.repeat(40), patch: null },
};
const RUN = { worker: 'w', host: 'h', pid: 1, startTime: 'x', job: 'j', token: 't' };

/** An agent that a worker has taken. */
async function claimedAgent(rid: string) {
  const store = openRemoteStore(redis.handle.client, ensureJobKey(redis.home));
  const sid = ulid();
  await store.order({ ...ORDER, rid }, '', 0);
  const claim = await store.claim(rid, RUN, 'place', sid);
  if (claim.status !== 'ok') throw new Error(claim.status);
  return { store, rid, sid, claim };
}

test('O19: words that are said at the same time are all heard, in order; nothing of an agent stays in Redis for ever', async () => {
  const { client } = redis.handle;
  const store = openRemoteStore(client, ensureJobKey(redis.home));
  const { rid } = ORDER;
  expect(await store.order(ORDER, '', 0)).toEqual(ORDER);
  const claim = await store.claim(rid, RUN, 'place', 'session');
  if (claim.status !== 'ok') throw new Error(claim.status);
  expect(await store.say(rid, { ...claim, n: 0 }, { k: 'placed', worker: 'w' })).toBe(true);
  const said = ['one', 'two', 'three'];
  await Promise.all(said.map((text) => store.tell(rid, { k: 'say', text, by: 'x' })));
  const { meta, stream, words } = keys.remoteAgent(rid);
  const heard = entriesOf(await client.xrange(words, '-', '+')).map((entry) => store.heard(rid, entry));
  expect(heard.map((word) => must(word))).toEqual(said.map((text) => ({ k: 'say', text, by: 'x' })));
  for (const key of [meta, stream, words]) expect(await client.ttl(key)).toBeGreaterThan(0);
});

test('O19, SAFETY 2.3: what a worker tells of its agent names its parent’s places, and still says that a command has fetched something', async () => {
  const { client } = redis.handle;
  const { store, rid, sid, claim } = await claimedAgent('mirrored');
  const op = '1.1.1';
  const request = { command: 'curl -s https://example.test', network: true, cwd: '/copy' };
  const events: readonly JournalEvent[] = [
    { type: 'tool.intent', op, key: 'k', intent: { kind: 'command', request }, at: 1 },
    update(1, 'in /copy/a.txt'),
    done(1),
  ];
  for (const [n, event] of events.entries()) {
    await client.xadd(keys.session(sid).log, `1-${n + 1}`, 'e', encode('w', event));
  }
  const ended = await mirror({
    ...{ handle: redis.handle, store, blobs: openBlobs(redis.home), rid, sid, epoch: claim.epoch },
    ...{ attempt: claim.attempt, signal: new AbortController().signal, obey: async () => true, refused: () => {} },
    roots: ['/copy', '/parents'],
  });
  expect(ended).toMatchObject({ done: { type: 'msg.done' }, n: 2 });
  const said = entriesOf(await client.xrange(keys.remoteAgent(rid).stream, '-', '+')).map((entry) =>
    must(store.said(rid, entry)),
  );
  const told = said.flatMap((entry) => (entry.k === 'ev' ? [entry.event as unknown as JournalEvent] : []));
  expect(JSON.stringify(told)).not.toContain('/copy');
  expect(told[1]).toMatchObject({ text: 'in /parents/a.txt' });
  expect(told.reduce((taint, event) => foldTaint(taint, event), NO_TAINT).web).toBe(true);
});

test('O19: what an agent was told before its worker died is not told again, however long its journal is', async () => {
  const { client } = redis.handle;
  const { store, rid, sid, claim } = await claimedAgent('resumed');
  const { log } = keys.session(sid);
  const write = async (n: number, event: JournalEvent) =>
    void (await client.xadd(log, `1-${n}`, 'e', encode('w', event)));
  for (let n = 1; n <= 450; n++) await write(n, update(1, `${n}`));
  await write(451, { type: 'word', seq: 1, text: 'told', by: 'x', at: 1 });
  for (const text of ['told', 'new']) await store.tell(rid, { k: 'say', text, by: 'x' });
  const heard: unknown[] = [];
  const ended = await mirror({
    ...{ handle: redis.handle, store, blobs: openBlobs(redis.home), rid, sid, epoch: claim.epoch },
    ...{
      attempt: claim.attempt,
      signal: new AbortController().signal,
      refused: () => {},
      roots: ['/copy', '/parents'],
    },
    async obey(word) {
      heard.push(word.k === 'say' ? word.text : word.k);
      await write(452, done(1));
      return true;
    },
  });
  expect(heard).toEqual(['new']);
  expect(ended.done.type).toBe('msg.done');
});

test('SAFETY 6: a worker speaks for its agent alone: not for the user, other agents or messages, nor of what is to be done to files here', () => {
  const at = 1;
  const answer: JournalEvent = {
    ...{ type: 'perm.answer', op: '1.1.1', questionId: 'a'.repeat(16), decision: 'allow_always', by: 'me', at },
  };
  const change = { kind: 'file', path: '/project/a.txt' };
  const intent = { type: 'tool.intent', op: '1.2.1', key: 'k', intent: change, at } as const;
  const result: EventOf<'tool.done'> = {
    ...{ type: 'tool.done', op: '1.2.1', callId: 'c', name: 'EditTool', kind: 'ok', text: { inline: 'x' }, at },
    ...{ description: 'd', affectedFiles: [], data: change, resultHash: 'h', durationMs: 1 },
  };
  const patch = { ...intent, op: '1.1000000.1' } as const;
  const unknown = { type: 'of tomorrow', at } as unknown as JournalEvent;
  for (const forged of [answer, { type: 'agent.ev', aid: 'a', event: answer, at } as const, patch, done(1), unknown]) {
    expect(() => workersEvent(forged, 3)).toThrow('The worker s');
  }
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  const used = { type: 'aux.used', seq: 1, purpose: 'title', model: 'a/b', usage, at } as const;
  expect(workersEvent(used, 3)).toEqual({ ...used, seq: 3 });
  for (const output of [-1, Number.NaN, '9' as unknown as number]) {
    expect(() => workersEvent({ ...used, usage: { ...usage, output } }, 3)).toThrow('less than nothing');
  }
  expect(workersEvent(intent, 3)).toEqual({ ...intent, op: '3.2.1', intent: { kind: 'remote', fetched: false } });
  const { data: _, ...told } = result;
  expect(workersEvent(result, 3)).toEqual({ ...told, op: '3.2.1' });
});

test('SAFETY 6 O23: a place outside is none of the project’s, whatever the worker calls it: no answer for the session is about it', () => {
  const questions = relayQuestions({
    ...{ root: '/project', agent: 'T (a)', memory: { permissions: NO_PERMISSIONS }, now: () => 1 },
    permissions: { timeoutMs: null, isOpen: () => false, ask: async () => ({ decision: 'deny', by: 'x' }) },
    ...{ record() {}, flushed: async () => {}, scrub: (text) => text, tell: async () => {}, broken() {} },
  });
  const path = (name: string, under = name) =>
    ({ path: name, outside: false, why: 'w', access: 'write', under }) as const;
  const inside = path('/project/.vscode/tasks.json');
  const places = [
    path('/etc/passwd'),
    path('/project/../etc/passwd'),
    path('/project/a.txt', '/'),
    path('/project2/a'),
  ];
  const { question } = questions.taken(
    {
      ...{ type: 'perm.ask', op: '3.1.1', at: 1 },
      question: {
        ...{
          id: 'a'.repeat(16),
          title: 't',
          reasons: [],
          detail: 'd',
          argsHash: 'h',
          tool: 'WriteFile',
          relayed: true,
        },
        paths: [inside, ...places],
      },
    },
    'w',
  );
  expect(question.paths).toEqual([inside, ...places.map((one) => ({ path: one.path, outside: true, why: 'w' }))]);
});

test('O19: who is told to stop before it listens leaves no connection behind', async () => {
  const opened: OdinRedis[] = [];
  const handle: RedisHandle = {
    ...redis.handle,
    async duplicate() {
      const copy = await redis.handle.duplicate();
      opened.push(copy);
      return copy;
    },
  };
  const key = ensureJobKey(redis.home);
  const bench = openFilesBench();
  const remote = openRemoteAgents({
    ...{ home: redis.home, root: bench.root, handle, files: bench.files, isPreferred: true },
    ...{ scrub: (text) => text, log: () => {} },
  });
  const signal = AbortSignal.abort();
  for await (const heard of remote?.follow('nobody', { attempt: 0, n: 0 }, signal) ?? []) expect(heard).toBeNull();
  const mirrored = mirror({
    ...{ handle, store: openRemoteStore(handle.client, key), blobs: openBlobs(redis.home), rid: 'nobody', sid: 's' },
    ...{ epoch: 1, attempt: 1, signal, obey: async () => true, refused: () => {} },
    roots: ['/copy', '/parents'],
  });
  await expect(mirrored).rejects.toThrow();
  expect(opened).toHaveLength(2);
  await until(() => opened.every(({ status }) => status === 'end'));
  bench.close();
});

test('SAFETY 2.4: a copy that an agent may write to shares no file with the repository', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'odin-copies-')));
  const project = join(folder, 'project');
  makeRepository(project, { 'a.txt': 'one\n', 'in/b.txt': 'two\n' });
  const copy = join(folder, 'copies', 'agent.1');
  const base = (await commitOf(project, 'HEAD')) ?? '';
  must(await makeCopy(project, { base, patch: '' }, copy, { shares: false }));
  const inodes = (root: string) =>
    readdirSync(root, { recursive: true, withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [lstatSync(join(entry.parentPath, entry.name)).ino] : [],
    );
  const theirs = new Set(inodes(project));
  expect(inodes(copy).filter((inode) => theirs.has(inode))).toEqual([]);
  expect(git(copy, 'status', '--porcelain')).toBe('');
  await rm(folder, { recursive: true });
});
