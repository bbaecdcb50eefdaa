// `npm run crash -- netns` (DURABILITY 15, test 6): processes in a network namespace of their own are cut off from Redis for 12 s in the
// middle of their work, while another one outside takes over; then the link is back. No effect may happen twice, and never may both
// have effects at a time: who is cut off stops by itself, before others may begin. It needs Linux and root, and says so otherwise.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { atMost, type Goal } from '../../bench/report.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import { type Island, openIsland } from '../support/netns.ts';
import { STEPS, stepsOf } from '../support/netns-steps.ts';
import { startTcpRedis } from '../support/redis-tcp.ts';
import { type CutPlan, goalsOf, noteOf, type Round, type Stage } from './netns-judge.ts';
import { cutOffOwner } from './netns-owner.ts';
import { cutOffWorker } from './netns-worker.ts';

export interface NetnsReport {
  readonly goals: readonly Goal[];
  readonly notes: readonly string[];
}

const GATE = join(import.meta.dirname, '../support/netns-gate-child.ts');

/** Each kind of process is cut off `cuts` times. `ip`: another program than the one in the path. */
export async function cutOff(
  folder: string,
  cuts: number,
  random: (below: number) => number,
  ip = 'ip',
): Promise<NetnsReport> {
  const opened = openIsland(folder, ip);
  if (!opened.ok) {
    const goal = atMost('effects of both at a time', null, 0, 'ms', `not run here: ${opened.failure.message}`);
    return { goals: [goal], notes: [] };
  }
  const island = opened.value;
  try {
    return await onIsland(folder, island, planCuts(cuts, random));
  } finally {
    await island.close();
  }
}

/** Cuts in the middle of a long command and between short ones, for exactly 12 s and until somebody has taken over, in turns. */
export function planCuts(cuts: number, random: (below: number) => number): readonly CutPlan[] {
  return Array.from({ length: cuts }, (_, n) => ({
    name: String(n),
    atStep: 2 + random(STEPS / 2),
    afterMs: random(600),
    isLong: n % 2 === 0,
    untilTakenOver: n % 4 < 2,
  }));
}

async function onIsland(folder: string, island: Island, plans: readonly CutPlan[]): Promise<NetnsReport> {
  const password = randomBytes(16).toString('hex');
  const redis = await startTcpRedis({
    ...{ bind: `127.0.0.1 ${island.gateway}`, requirepass: password },
    ...{ appendonly: 'yes', appendfsync: 'always' },
  });
  const model = await startScriptedServer({ script: stepsOf, keepBodies: false });
  const gate = island.spawn([process.execPath, GATE, island.gateway, String(redis.port)], { env: process.env });
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const redisUrl = `redis://:${password}@127.0.0.1:${redis.port}`;
  const handle = await connectRedis({ home, redisUrl, notice: () => {} });
  const rounds: Round[] = [];
  const notes: string[] = [];
  try {
    const inside = String((await once(gate.stdout as NodeJS.ReadableStream, 'data'))[0]).trim();
    const stage: Stage = { folder, island, redisUrl, models: { inside, outside: model.url } };
    for (const [kind, play] of Object.entries({ owner: cutOffOwner, worker: cutOffWorker })) {
      for (const plan of plans) {
        const round = await play(stage, handle, { ...plan, name: `${kind}${plan.name}` });
        rounds.push(round);
        notes.push(noteOf(round));
      }
    }
    return { goals: goalsOf(rounds), notes };
  } finally {
    await handle.close();
    await model.close();
    await redis.close();
  }
}
