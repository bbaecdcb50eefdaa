// File changes whose owner is killed between intent and rename and between rename and result (DURABILITY 8). Each change brings
// a token of its own, so that the files tell how often it was made.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashOrder } from './files-crash-child.ts';
import { countOf, inversions, type KillResult, type Life, liveOnce } from './kill-owner.ts';

export interface EditKills extends KillResult {
  /** How each change became known to be made. */
  readonly how: ReadonlySet<string>;
  /** Temporary files that are left. */
  readonly leftOver: readonly string[];
}

const POINTS = ['intent', 'rename', 'outside'] as const;
/** A life makes one to three changes; enough that they do not run out. */
const CHANGES_A_KILL = 4;

/** Changes files in `folder` and kills who changes them `kills` times. */
export async function killEdits(folder: string, kills: number, random: (below: number) => number): Promise<EditKills> {
  const root = join(folder, 'project');
  mkdirSync(root, { recursive: true });
  for (const f of [0, 1, 2]) writeFileSync(join(root, `f${f}.txt`), 'end\n');
  const changes = kills * CHANGES_A_KILL;
  const fixed = { root, home: join(folder, 'home'), journal: join(folder, 'journal'), changes };
  const lives: Life[] = [];
  for (let n = 0; n < kills; n++) {
    const life = await live({ ...fixed, dieAfter: random(2), at: POINTS[random(3)] ?? 'intent' });
    lives.push(life);
    if (!life.killed) break;
  }
  lives.push(await live({ ...fixed, dieAfter: changes, at: 'rename' }));
  return judge(fixed, lives);
}

/** With `outside` it is killed from here when it says that it is about to rename. */
const live = (order: CrashOrder): Promise<Life> =>
  liveOnce('files-crash-child', order, (text, kill) => {
    if (order.at === 'outside' && text.includes('now\n')) kill();
  });

function judge(order: Omit<CrashOrder, 'dieAfter' | 'at'>, lives: readonly Life[]): EditKills {
  const { root, journal, changes } = order;
  const tokens = (path: string) =>
    existsSync(path) ? [...readFileSync(path, 'utf8').matchAll(/token (\d+);/g)].map(([, n]) => Number(n)) : [];
  const edited = [0, 1, 2].map((f) => tokens(join(root, `f${f}.txt`)));
  const made = Array.from({ length: changes }, (_, n) => tokens(join(root, `made/${n}.txt`)));
  const effects = countOf([...edited, ...made].flat(), changes);
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  const done = lines.map((line) => JSON.parse(line) as { n: number; done?: string }).filter((line) => line.done);
  const results = countOf(
    done.map((line) => line.n),
    changes,
  );
  const all = [...effects.keys()];
  return {
    kills: lives.filter((life) => life.killed).length,
    lost: all.filter((n) => effects[n] === 0 || results[n] === 0).length,
    doubled: all.filter((n) => (effects[n] ?? 0) > 1 || (results[n] ?? 0) > 1).length,
    misordered: edited.reduce((sum, numbers) => sum + inversions(numbers), 0),
    unknown: 0,
    resumeMs: lives.flatMap((life) => life.resumeMs ?? []),
    how: new Set(done.flatMap((line) => line.done ?? [])),
    leftOver: readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.odin-tmp')),
  };
}
