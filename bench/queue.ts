// bench queue: 1,000 sessions of 5 messages through one owner, with a model that takes 5 ms; and what an append to the journal costs
// beside a raw XADD of the same bytes. Both with the private Redis on its socket, and with a Redis of the same durability over TCP.
//
// The model is a provider in the process: over HTTP, the SDK and the server would take the two cores for themselves.
// Beside messages a second, which depend on what else the machine does, it says how much processor time a message took.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ModelPair } from '../orchestrator/api.ts';
import { readLog } from '../orchestrator/journal-read.ts';
import { keys, workspaceId } from '../orchestrator/keys.ts';
import { openOdin } from '../orchestrator/odin.ts';
import { connectRedis, type OdinRedis, type RedisHandle } from '../orchestrator/redis.ts';
import { ulid } from '../shared/ids.ts';
import { NO_USAGE } from '../shared/messages.ts';
import { ok } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import { ask, claimed, inboxOf, update } from '../test/support/redis-session.ts';
import { startTcpRedis } from '../test/support/redis-tcp.ts';
import { atMost, type BenchReport, type Goal, median, report } from './report.ts';

const SESSIONS = 1_000;
const MESSAGES = 5;
const MODEL_MS = 5;
const APPENDS = 1_000;
/** Submits on their way at a time. */
const SUBMITTERS = 64;

/** `rounds` is for the appends; the queue is filled and emptied once a Redis. */
export async function benchQueue({ rounds }: { readonly rounds: number }): Promise<BenchReport> {
  const tcp = await startTcpRedis({ appendonly: 'yes', appendfsync: 'always' });
  try {
    const own = await measure(rounds);
    const remote = await measure(rounds, `redis://127.0.0.1:${tcp.port}`);
    const places = [
      { name: 'private Redis', ...own },
      { name: 'REDIS_URL over TCP', ...remote },
    ];
    return report(
      'queue',
      places.flatMap(({ name, perSecond, cpuMs, redisCpuMs, askedAgain, append, xadd }) => [
        { name: `${name}: messages`, unit: 'per s', odin: perSecond, floor: null },
        { name: `${name}: CPU of Odin a message`, unit: 'ms', odin: cpuMs, floor: null },
        { name: `${name}: CPU of Redis a message`, unit: 'ms', odin: redisCpuMs, floor: null },
        { name: `${name}: model asked again`, unit: 'times', odin: askedAgain, floor: null },
        { name: `${name}: append, p50`, unit: 'µs', odin: append, floor: xadd },
      ]),
      places.flatMap(goalsOf),
    );
  } finally {
    await tcp.close();
  }
}

interface Emptied {
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly redisCpuMs: number;
  /** After a turn that was put down because the machine stood still for seconds. */
  readonly askedAgain: number;
  readonly misordered: number;
}

interface Measured extends Emptied {
  readonly append: number | null;
  readonly xadd: number | null;
}

const goalsOf = ({ name, perSecond, misordered, append, xadd }: Measured & { readonly name: string }): Goal[] => [
  // A goal is met when its figure is at most its limit: the time that 500 messages take.
  atMost(`${name}: 500 messages`, 500 / perSecond, 1, 's'),
  atMost(`${name}: messages out of order, lost or doubled`, misordered, 0, 'messages'),
  atMost(`${name}: append against a raw XADD`, append !== null && xadd ? append / xadd : null, 1.5, 'times'),
];

async function measure(rounds: number, redisUrl?: string): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-bench-queue-'));
  try {
    const appends = await timeAppends(folder, rounds, redisUrl);
    return { ...(await emptyQueue(folder, redisUrl)), ...appends };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function emptyQueue(folder: string, redisUrl: string | undefined): Promise<Emptied> {
  const [home, project] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), '# Bench\n');
  const place = { cwd: project, home, ...(redisUrl === undefined ? {} : { redisUrl }) };
  const handle = await connectRedis({ home, notice: () => {}, ...(redisUrl === undefined ? {} : { redisUrl }) });
  const answered = new Map<string, string[]>();
  const owner = await openOdin({ ...place, models: modelsThat(answered) });
  try {
    const sids = Array.from({ length: SESSIONS }, () => owner.newSession());
    const waiting = sids.flatMap((sid, s) => Array.from({ length: MESSAGES }, (_, n) => ({ sid, s, n })));
    waiting.sort((a, b) => a.n - b.n);
    const { pending } = keys.workspace(workspaceId(owner.root, handle.scope));
    const [startedAt, cpu, redisCpu] = [performance.now(), process.cpuUsage(), await redisCpuSeconds(handle)];
    const submitter = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await owner.submit(next.sid, { mode: 'ask', body: `message ${next.s}.${next.n};` });
      }
    };
    await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
    while ((await handle.client.scard(pending)) > 0) await delay(20);
    const seconds = (performance.now() - startedAt) / 1000;
    const used = process.cpuUsage(cpu);
    const redisUsed = (await redisCpuSeconds(handle)) - redisCpu;
    const count = SESSIONS * MESSAGES;
    const asked = sids.map((_, s) => answered.get(String(s)) ?? []);
    const inOrder = asked.map((order) => order.filter((message, i) => message !== order[i - 1]));
    const wanted = Array.from({ length: MESSAGES }, (_, n) => n).join();
    const isDone = await Promise.all(sids.map((sid) => endedInOrder(handle, sid)));
    return {
      perSecond: count / seconds,
      cpuMs: (used.user + used.system) / 1000 / count,
      redisCpuMs: (redisUsed * 1000) / count,
      askedAgain: asked.flat().length - inOrder.flat().length,
      misordered: inOrder.filter((order, s) => order.join() !== wanted || !isDone[s]).length,
    };
  } finally {
    await owner.close();
    await handle.close();
  }
}

/** Whether its journal has one end for each message, in order. */
async function endedInOrder({ client }: RedisHandle, sid: string): Promise<boolean> {
  const ends = (await readLog(client, sid, '0')).flatMap(({ event }) => (event.type === 'msg.done' ? [event.seq] : []));
  return ends.length === MESSAGES && ends.every((seq, i) => seq === i + 1);
}

async function redisCpuSeconds({ client }: RedisHandle): Promise<number> {
  const info = await client.info('cpu');
  return ['user', 'sys'].reduce(
    (sum, name) => sum + Number(new RegExp(`^used_cpu_${name}:(.*)$`, 'm').exec(info)?.[1]),
    0,
  );
}

/** Answers after 5 ms, and notes which message of which session it was asked. */
function modelsThat(answered: Map<string, string[]>): ModelPair {
  const provider: ModelProvider = {
    name: 'bench',
    async stream(request, { ready }) {
      await ready;
      await delay(MODEL_MS);
      const said = JSON.stringify(request.messages.at(-1));
      const [, session = '', message = ''] = /message (\d+)\.(\d+);/.exec(said) ?? [];
      answered.set(session, [...(answered.get(session) ?? []), message]);
      return ok({
        parts: [{ type: 'text', text: 'Done.' }],
        stop: 'end',
        usage: { ...NO_USAGE, input: 100, output: 2 },
        model: 'bench',
      });
    },
    listModels: async () => ok([]),
  };
  return { model: 'bench/bench', smallModel: 'bench/bench', provider: async () => provider };
}

/** The same bytes, in turns: one event through a session's journal until it is durable, and one XADD. */
async function timeAppends(
  folder: string,
  rounds: number,
  redisUrl: string | undefined,
): Promise<Pick<Measured, 'append' | 'xadd'>> {
  const home = join(folder, 'append-home');
  const handle = await connectRedis({ home, notice: () => {}, ...(redisUrl === undefined ? {} : { redisUrl }) });
  try {
    const sid = ulid();
    await inboxOf(handle.client, home).submit(ask(sid, 'hello'));
    const { journal } = await claimed(handle.client, sid, 1);
    const event = update(1, 'x'.repeat(400));
    const text = JSON.stringify(event);
    const [append, xadd]: [number[], number[]] = [[], []];
    for (let i = 0; i < APPENDS * Math.min(rounds, 5); i++) {
      append.push(
        await timed(async () => {
          void journal.append(event);
          await journal.flushed();
        }),
      );
      xadd.push(await timed(() => rawAppend(handle.client, text)));
    }
    return { append: median(append), xadd: median(xadd) };
  } finally {
    await handle.close();
  }
}

const rawAppend = (client: OdinRedis, text: string): Promise<unknown> => client.xadd('bench:raw', '*', 'd', text);

/** In microseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) * 1000;
}
