// `npm run crash -- disk-full` (DURABILITY 15, test 11): the disk fills up under Redis, the blobs and the archive, on a small tmpfs of
// its own; space comes back, and everything must go on with nothing lost, nothing doubled and the user told. It needs root to
// mount the tmpfs, and says so when it cannot.

import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { atMost, type Goal } from '../../bench/report.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { archivedSessions } from '../../orchestrator/archive-file.ts';
import { archiveSession } from '../../orchestrator/archive-move.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { UserError } from '../../shared/outcome.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';
import { startTcpRedis } from '../support/redis-tcp.ts';

export interface DiskFullReport {
  readonly goals: readonly Goal[];
  /** What the user was told in each scenario. */
  readonly told: Readonly<Record<string, readonly string[]>>;
}

/** Enough for the private Redis to start with (32 MB), and a little. */
const MEGABYTES = 64;
const MESSAGES = 4;
/** The message in which the disk fills up. */
const FULL_AT = 2;

const SCENARIOS: Readonly<
  Record<string, (mount: string, told: (lines: readonly string[]) => void) => Promise<readonly Goal[]>>
> = {
  'private Redis': (mount, told) => runSession(mount, told, 0, false),
  'a payload that does not fit': (mount, told) => runSession(mount, told, 24 * 1024, false),
  'a Redis that syncs every second': (mount, told) => runSession(mount, told, 0, true),
  archive: fullArchive,
};

export async function diskFull(folder: string): Promise<DiskFullReport> {
  const goals: Goal[] = [];
  const told: Record<string, readonly string[]> = {};
  for (const [name, run] of Object.entries(SCENARIOS)) {
    const mount = mkdtempSync(join(folder, 'disk-'));
    const refused = mountTmpfs(mount);
    if (refused !== null) {
      goals.push(atMost(`${name}: lost or doubled`, null, 0, 'files', refused));
      continue;
    }
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = mount;
    try {
      const found = await run(mount, (lines) => {
        told[name] = lines;
      });
      goals.push(...found.map((goal) => ({ ...goal, name: `${name}: ${goal.name}` })));
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
      execFileSync('umount', ['-l', mount]);
    }
  }
  return { goals, told };
}

/** Null, or why this machine cannot. */
function mountTmpfs(mount: string): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MEGABYTES}m`, 'tmpfs', mount], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `no tmpfs can be mounted here, which needs Linux and root (${(error as Error).message.split('\n')[0]})`;
  }
}

/** Takes all the space there is but so many bytes; returns what gives it back. */
function fillDisk(mount: string, leave: number): () => void {
  const path = join(mount, 'ballast');
  const spare = join(mount, 'spare');
  writeFileSync(spare, Buffer.alloc(leave));
  const fd = openSync(path, 'w');
  try {
    for (let size = 1024 * 1024; size >= 1; ) {
      try {
        writeSync(fd, Buffer.alloc(size));
      } catch {
        size >>= 1;
      }
    }
  } finally {
    closeSync(fd);
    rmSync(spare);
  }
  return () => rmSync(path, { force: true });
}

/** Messages that each write one file of their own; the disk fills up under one of them, until the user has been told. */
async function runSession(
  mount: string,
  told: (lines: readonly string[]) => void,
  leave: number,
  isShared: boolean,
): Promise<readonly Goal[]> {
  let giveBack = () => {};
  let filled = false;
  const script = (turn: ScriptedTurn): ScriptedAnswer => {
    const n = Number(/write (\d)/.exec(turn.userText)?.[1]);
    if (n === FULL_AT && !filled) {
      filled = true;
      giveBack = fillDisk(mount, leave);
    }
    const last = turn.lastToolResults[0]?.text ?? '';
    if (turn.stepOfMessage === 0 && leave > 0) {
      return { toolCalls: [{ name: 'ReadFile', args: { file_path: `large${n}.txt` } }] };
    }
    const isWritten = /^(Created|Wrote|Overwrote|The content is)/.test(last);
    if (isWritten) return { text: `done ${n}` };
    return { toolCalls: [{ name: 'WriteFile', args: { file_path: `f${n}.txt`, content: `token ${n}\n` } }] };
  };
  // Each its own content, or the first one's blob would do for all.
  const numbers = Array.from({ length: MESSAGES }, (_, i) => i + 1);
  const files = Object.fromEntries(numbers.map((n) => [`large${n}.txt`, `a line of large file ${n}\n`.repeat(1200)]));
  const shared = isShared ? await startTcpRedis({ appendonly: 'yes', appendfsync: 'everysec' }) : null;
  return withWorld({ script, files }, async (world) => {
    const odin = await world.open({
      permission: { mode: 'accept-edits', timeoutMs: null },
      ...(shared ? { redisUrl: `redis://127.0.0.1:${shared.port}` } : {}),
    });
    const sid = odin.newSession();
    const refusals: string[] = [];
    const atStart = world.noticed.length;
    let failed = 0;
    for (let n = 1; n <= MESSAGES; n++) {
      const ended = asked({ world, odin, sid, refusals }, n);
      if (n === FULL_AT) await spaceComesBack(world, () => giveBack(), ended);
      if (only(await ended, 'AgentDone').status !== 'completed') failed += 1;
    }
    const lines = [...world.noticed.slice(atStart), ...refusals];
    told(lines);
    const checked = await odin.fsck(false);
    const replayed = await odin.replay(sid);
    await odin.close();
    await shared?.close();
    const wrong = numbers.filter((n) => fileOf(world, n) !== `token ${n}\n`);
    return [
      atMost('messages that did not complete', failed, 0, 'messages'),
      atMost('files lost or written twice', wrong.length, 0, 'files'),
      atMost('what fsck finds', checked.lines.filter(({ severity }) => severity !== 'note').length, 0, 'findings'),
      atMost('what replay finds', replayed.difference === null ? 0 : 1, 0, 'differences'),
      atMost('times that the user was not told', lines.length === 0 ? 1 : 0, 0, 'times'),
    ];
  });
}

/** A message that Redis could not take is refused in one line, and is sent again. */
async function asked({ world, odin, sid, refusals }: Session, n: number): ReturnType<World['ask']> {
  for (;;) {
    try {
      return await world.ask(odin, sid, { mode: 'edit', body: `write ${n}`, limits: { maxSteps: 20 } });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (!refusals.includes(error.message)) refusals.push(error.message);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

interface Session {
  readonly world: World;
  readonly odin: Odin;
  readonly sid: string;
  /** What was refused, in words. */
  readonly refusals: string[];
}

function fileOf(world: World, n: number): string | null {
  try {
    return readFileSync(join(world.project, `f${n}.txt`), 'utf8');
  } catch {
    return null;
  }
}

/** Once the user was told, or the message has ended in spite of it. */
async function spaceComesBack(world: World, giveBack: () => void, ended: Promise<unknown>): Promise<void> {
  const before = world.noticed.length;
  let over = false;
  const isOver = () => {
    over = true;
  };
  void ended.then(isOver, isOver);
  while (!over && world.noticed.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
  giveBack();
}

/** An archive that does not fit leaves nothing half, and the session where it was. */
async function fullArchive(mount: string): Promise<readonly Goal[]> {
  return withWorld({ script: () => ({ text: 'x'.repeat(10_000) }) }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    for (let n = 0; n < 5; n++) await world.ask(odin, sid, { mode: 'ask', body: `say ${n}` });
    const before = (await odin.replay(sid)).stateHash;
    const redis = await connectRedis({ home: world.home, notice: () => {} });
    const place = { redis: redis.client, home: world.home };
    const giveBack = fillDisk(mount, 8192);
    const first = await archiveSession(place, sid).catch((error: NodeJS.ErrnoException) => error.code);
    const kept = (await odin.replay(sid)).stateHash;
    const left = readdirSync(join(world.home, 'sessions')).length;
    giveBack();
    const second = await archiveSession(place, sid);
    const after = (await odin.replay(sid)).stateHash;
    const archived = await archivedSessions(world.home);
    await redis.close();
    return [
      atMost('archives made without space', first === 'ENOSPC' ? 0 : 1, 0, 'archives'),
      atMost('files left over', left, 0, 'files'),
      atMost('sessions lost or changed', new Set([before, kept, after]).size - 1, 0, 'sessions'),
      atMost('archives not made with space', second === 'archived' && archived.includes(sid) ? 0 : 1, 0, 'archives'),
    ];
  });
}
