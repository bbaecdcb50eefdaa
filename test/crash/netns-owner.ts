// A round of netns.ts with two Odins in one project: the one on the island owns it and is cut off, the other one waits outside.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLog } from '../../orchestrator/journal-read.ts';
import type { RedisHandle } from '../../orchestrator/redis.ts';
import type { JournalEvent } from '../../shared/events.ts';
import { EFFECT, promptOf, tracesOf } from '../support/netns-steps.ts';
import type { OwnerOrder } from '../support/owner-child.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';
import { atLast, type CutPlan, cut, type Round, type Stage } from './netns-judge.ts';

export async function cutOffOwner(stage: Stage, handle: RedisHandle, plan: CutPlan): Promise<Round> {
  const { folder, island, redisUrl, models } = stage;
  const { name, atStep, isLong } = plan;
  const project = join(folder, name);
  mkdirSync(project);
  const files = { 'ODIN.md': '# Cut off\n', 'effect.sh': EFFECT, [`tokens-${name}.txt`]: 'end\n' };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
  const traces = () => tracesOf(readOr(join(project, `effects-${name}.log`)));
  const order: Omit<OwnerOrder, 'url'> = {
    ...{ project, home: join(folder, 'home'), redisUrl, allow: ['sh effect.sh'] },
  };
  const events = async (sid: string): Promise<readonly JournalEvent[]> =>
    (await readLog(handle.client, sid, '0')).map(({ event }) => event);
  const owners: OwnerChild[] = [];
  const start = (...given: Parameters<typeof startOwner>): OwnerChild => {
    const owner = startOwner(...given);
    owners.push(owner);
    return owner;
  };
  try {
    const inner = start({ ...order, url: models.inside }, island.spawn);
    await inner.line(/^open true/);
    const outer = start({ ...order, url: models.outside });
    await outer.line(/^open false/);
    const sid = await outer.submit({ body: promptOf(name, isLong ? atStep : null) });
    const takenAt = async (): Promise<number | null> => {
      const claim = (await events(sid)).filter(({ type }) => type === 'claim')[1];
      return claim !== undefined && 'at' in claim ? (claim.at ?? null) : null;
    };
    const findings: string[] = [];
    if (!(await atLast(() => traces().some(({ step }) => step === atStep)))) {
      throw new Error(`The message did not come to its step ${atStep}:\n${inner.lines.slice(-20).join('\n')}`);
    }
    const times = await cut(stage, plan, takenAt);
    const done = outer.line(new RegExp(`^done ${sid} `)).catch(() => 'it ended');
    let told = 'nothing';
    void done.then((line) => {
      told = line;
    });
    await atLast(() => told !== 'nothing');
    const completed = told === `done ${sid} completed done ${name}`;
    if (!completed) findings.push(`the other was told: ${told}`);
    // Whoever was cut off finds its way back, and can be closed.
    if (!(await atLast(() => inner.lines.some((line) => line.startsWith('notice Another Odin'))))) {
      findings.push('who was cut off never learnt that another has taken over');
    }
    if (!inner.lines.some((line) => line.startsWith('log the workspace could not be renewed'))) {
      findings.push('who was cut off did not stop by itself');
    }
    const journal = await events(sid);
    findings.push(...judgeEdits(readFileSync(join(project, `tokens-${name}.txt`), 'utf8'), journal));
    const all = traces();
    const ends = journal.filter(({ type }) => type === 'msg.done').length;
    return { plan, ...times, takenAt: await takenAt(), traces: all, kept: all, ends, completed, findings };
  } finally {
    await Promise.all(owners.map(leave));
  }
}

/** Every edit that the journal calls made is in the file once, and nothing else is. */
function judgeEdits(text: string, events: readonly JournalEvent[]): readonly string[] {
  const tokens = text.match(/^token .*$/gm) ?? [];
  const made = events.filter((e) => e.type === 'tool.done' && e.name === 'EditTool' && e.kind === 'ok').length;
  const doubled = tokens.length - new Set(tokens).size;
  return [
    ...(doubled > 0 ? [`${doubled} edits are there twice`] : []),
    ...(tokens.length === made ? [] : [`${made} edits were told to be made, ${tokens.length} are in the file`]),
  ];
}

async function leave(owner: OwnerChild): Promise<void> {
  let gone = false;
  void owner.end().then(() => {
    gone = true;
  });
  if (!(await atLast(() => gone, 20_000))) owner.process.kill('SIGKILL');
}

export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
