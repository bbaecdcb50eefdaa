// An owner that is stopped, or whose event loop is blocked, and wakes up again (DURABILITY 6; 15, tests 5 and 20), with real processes.
// The lease is short, so that nobody has to wait for ten seconds.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { JournalEvent } from '../../shared/events.ts';
import type { OwnerOrder } from '../support/owner-child.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';
import { serverPid } from '../support/redis.ts';
import { printedSeed, randomFrom } from '../support/seed.ts';

const LEASE_MS = 4_000;
const EDITS = 12;

interface Stage {
  readonly file: string;
  readonly home: string;
  readonly handle: RedisHandle;
  readonly server: ScriptedServer;
  start(more?: Partial<OwnerOrder>): OwnerChild;
  eventsOf(sid: string): Promise<readonly JournalEvent[]>;
}

/** A project with one file that a message edits again and again, each time with a token of its own. */
async function onStage(onRequest: (turn: ScriptedTurn) => void, play: (stage: Stage) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-frozen-'));
  const [project, home] = [join(folder, 'project'), join(folder, 'home')];
  mkdirSync(project);
  const file = join(project, 'tokens.txt');
  writeFileSync(join(project, 'ODIN.md'), 'text\n');
  writeFileSync(file, 'end\n');
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    onRequest(turn);
    const [word = ''] = turn.userText.split('\n');
    if (turn.stepOfMessage === 0) return { toolCalls: [{ name: 'ReadFile', args: { file_path: file } }] };
    if (turn.stepOfMessage > EDITS) return { text: `finished ${word}` };
    const token = `<${word} ${turn.stepOfMessage}>`;
    const args = { file_path: file, old_string: 'end\n', new_string: `${token}\nend\n` };
    return { toolCalls: [{ name: 'EditTool', args }] };
  };
  const server = await startScriptedServer({ script });
  const handle = await connectRedis({ home, notice: () => {} });
  const owners: OwnerChild[] = [];
  const stage: Stage = {
    file,
    home,
    handle,
    server,
    start(more) {
      const owner = startOwner({ url: server.url, project, home, leaseMs: LEASE_MS, ...more });
      owners.push(owner);
      return owner;
    },
    eventsOf: async (sid) => (await readLog(handle.client, sid, '0')).map(({ event }) => event),
  };
  try {
    await play(stage);
  } finally {
    await Promise.all(owners.map((owner) => owner.end()));
    await handle.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const tokensOf = (word: string): readonly string[] => Array.from({ length: EDITS }, (_, n) => `<${word} ${n + 1}>`);

/** The tokens whose edits the journal calls made. */
function toldMade(word: string, events: readonly JournalEvent[]): readonly string[] {
  const edits = events.flatMap((event) =>
    event.type === 'tool.done' && event.name === 'EditTool' ? [event.kind] : [],
  );
  expect(edits).toHaveLength(EDITS);
  return tokensOf(word).filter((_, n) => edits[n] === 'ok');
}

/** What is in the file, in order of their making. */
const made = (file: string): readonly string[] => readFileSync(file, 'utf8').trim().split('\n').slice(0, -1);

const count = (events: readonly JournalEvent[], type: JournalEvent['type']): number =>
  events.filter((event) => event.type === type).length;

test('DURABILITY 15.5: an owner that is stopped in mid-edit is ended by the one who takes over; no edit is lost or made twice', async () => {
  const random = randomFrom(printedSeed('frozen owner'));
  const freezeAt = 2 + random(EDITS - 4);
  let first: OwnerChild | null = null;
  const frozen = Promise.withResolvers<void>();
  const onRequest = ({ userText, stepOfMessage }: ScriptedTurn) => {
    if (!userText.startsWith('one') || stepOfMessage !== freezeAt || !first) return;
    first.process.kill('SIGSTOP');
    frozen.resolve();
  };
  await onStage(onRequest, async ({ start, file, eventsOf }) => {
    first = start();
    await first.line(/^open true/);
    const second = start();
    await second.line(/^open false/);
    const one = await first.submit({ body: 'one' });
    await frozen.promise;
    const two = await second.submit({ body: 'two' });
    await second.line(new RegExp(`^done ${two} completed finished two`));
    expect(
      second.lines.some((line) =>
        line.startsWith(`notice The Odin that ran this project (process ${first?.process.pid})`),
      ),
    ).toBe(true);
    first.process.kill('SIGCONT');
    await first.exited;
    expect(first.process.signalCode).toBe('SIGKILL');
    await second.submit({ sid: one });
    await second.line(new RegExp(`^done ${one} completed finished one`));
    const events = await eventsOf(one);
    // An edit that met one of the other message is told so; one that was told to be made is there, once.
    for (const [word, of] of [
      ['one', events],
      ['two', await eventsOf(two)],
    ] as const) {
      expect(made(file).filter((token) => token.startsWith(`<${word}`))).toEqual(toldMade(word, of));
    }
    expect(toldMade('one', events).length).toBeGreaterThanOrEqual(freezeAt);
    // The second one may claim it again, where the machine kept it from renewing its lease; the first one never does.
    const claims = events.flatMap((event) => (event.type === 'claim' ? [event.pid] : []));
    expect(claims.filter((pid, n) => pid !== claims[n - 1])).toEqual([first.process.pid, second.process.pid]);
    expect(count(events, 'msg.done')).toBe(1);
  });
});

test('DURABILITY 15.5: an owner that was stopped while nothing waits goes on as if nothing had been', async () => {
  await onStage(
    () => {},
    async ({ start, handle }) => {
      const first = start();
      await first.line(/^open true/);
      const second = start();
      await second.line(/^open false/);
      first.process.kill('SIGSTOP');
      // Longer than the lease, by the second one's own looks at it.
      await looksAtOwner(handle, 15);
      first.process.kill('SIGCONT');
      const sid = await first.submit({ body: 'one' });
      await first.line(new RegExp(`^done ${sid} completed`));
    },
  );
});

test('DURABILITY 15.20: an event loop that was blocked for twice the lease is noted, and what it did is not done again', async () => {
  await onStage(
    () => {},
    async ({ start, file, eventsOf }) => {
      const only = start({ blockOn: { text: '<one 3>', forMs: 2 * LEASE_MS } });
      await only.line(/^open true/);
      const sid = await only.submit({ body: 'one' });
      await only.line(new RegExp(`^done ${sid} completed finished one`));
      const lags = only.lines.flatMap((line) => /^log the event loop was blocked.*"forMs":(\d+)/.exec(line)?.[1] ?? []);
      expect(lags.some((ms) => Number(ms) > 1.5 * LEASE_MS)).toBe(true);
      expect(made(file)).toEqual(tokensOf('one'));
      expect(count(await eventsOf(sid), 'msg.done')).toBe(1);
    },
  );
});

test('DURABILITY 6: an owner that cannot renew its lease puts its turns down by itself, and takes them up when it can', async () => {
  let server = 0;
  const onRequest = ({ stepOfMessage }: ScriptedTurn) => {
    if (stepOfMessage === 4 && server > 0) process.kill(server, 'SIGSTOP');
  };
  await onStage(onRequest, async ({ start, file, home, eventsOf }) => {
    const pid = await serverPid(home);
    const only = start();
    await only.line(/^open true/);
    server = pid;
    try {
      const sid = await only.submit({ body: 'one' });
      await only.line(/^log the workspace could not be renewed/);
      server = 0;
      process.kill(pid, 'SIGCONT');
      await only.line(new RegExp(`^done ${sid} completed finished one`));
      expect(made(file)).toEqual(tokensOf('one'));
      expect(count(await eventsOf(sid), 'claim')).toBeGreaterThan(1);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });
});

/** Resolves when the one who waits has looked so many times. */
async function looksAtOwner(handle: RedisHandle, times: number): Promise<void> {
  const monitor = await handle.client.monitor();
  let looks = 0;
  await new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [command, key]: string[]) => {
      if (command?.toLowerCase() !== 'hmget' || !key?.endsWith(':owner')) return;
      looks += 1;
      if (looks === times) resolve();
    });
  });
  monitor.disconnect();
}
