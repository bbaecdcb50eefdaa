// Commands whose owner is killed at any moment (DURABILITY 7): between intent and start, while they run, between end and
// result, and while a later life resumes them. Each writes its number to a log, which tells how often it ran.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandCrashOrder, CommandLine } from './exec-crash-child.ts';
import { countOf, inversions, type KillResult, type Life, liveOnce } from './kill-owner.ts';

export interface CommandKills extends KillResult {
  /** Commands whose result became known only to a later life. */
  readonly resumed: number;
}

/** A life runs about one command between its readiness and its end. */
const LIFE_MS = 40;
/** About as long as a life needs to start and resume. */
const START_MS = 150;

/** Runs `commands` commands in `folder` and kills their owner `kills` times: as it resumes, before an intent, and right after one. */
export async function killCommands(
  folder: string,
  commands: number,
  kills: number,
  random: (below: number) => number,
): Promise<CommandKills> {
  const root = join(folder, 'project');
  const order: CommandCrashOrder = { root, home: join(folder, 'home'), journal: join(folder, 'journal'), commands };
  mkdirSync(root, { recursive: true });
  const lives: Life[] = [];
  for (let n = 0; n < kills; n++) {
    // In turns, so that each kind is there however slow the machine and few the kills.
    const when = n % 5;
    const life = await (when === 0
      ? killedEarly(order, random(START_MS))
      : killedAfter(order, when < 3 ? 'ready\n' : 'intended\n', random(LIFE_MS)));
    lives.push(life);
    if (!life.killed) break;
  }
  lives.push(await liveOnce('exec-crash-child', order, () => {}));
  return judge(order, lives);
}

const killedEarly = (order: CommandCrashOrder, afterMs: number): Promise<Life> =>
  liveOnce(
    'exec-crash-child',
    order,
    () => {},
    (kill) => void setTimeout(kill, afterMs),
  );

/** How far a life comes until its first command depends on the machine; a command that has begun does not. */
function killedAfter(order: CommandCrashOrder, word: string, afterMs: number): Promise<Life> {
  let said = false;
  return liveOnce('exec-crash-child', order, (text, kill) => {
    if (!said && text.includes(word)) setTimeout(kill, afterMs);
    said ||= text.includes(word);
  });
}

function judge({ root, journal, commands }: CommandCrashOrder, lives: readonly Life[]): CommandKills {
  const log = join(root, 'effects');
  const ran = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [];
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  const done = lines.map((line) => JSON.parse(line) as CommandLine).filter((line) => line.done);
  const [effects, results] = [
    countOf(ran, commands),
    countOf(
      done.map((line) => line.n),
      commands,
    ),
  ];
  const unknown = new Set(done.filter((line) => line.done === 'unknown').map((line) => line.n));
  const right = new Set(
    done
      .filter(({ n, exitCode, output }) => exitCode === n % 5 && output === `out ${n}\n` && effects[n] !== 0)
      .map((line) => line.n),
  );
  const all = [...effects.keys()];
  return {
    kills: lives.filter((life) => life.killed).length,
    lost: all.filter((n) => !right.has(n) && !unknown.has(n)).length,
    doubled: all.filter((n) => (effects[n] ?? 0) > 1 || (results[n] ?? 0) > 1).length,
    misordered: inversions(ran),
    unknown: unknown.size,
    resumeMs: lives.flatMap((life) => life.resumeMs ?? []),
    resumed: done.filter((line) => line.done !== 'ran').length,
  };
}
