// `npm run crash -- threads` (DURABILITY 15, test 16): the thread in which four subagents work is lost in every way there is, at a result of
// a tool that the seed names. All of them must go on from the journal and make each edit once. Whoever runs them lives, unless the
// fault is one of native code, which ends the process; then the next one goes on.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { atMost, type Goal } from '../../bench/report.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import type { OwnerOrder } from '../support/owner-child.ts';
import { type OwnerChild, startOwner } from '../support/owner-process.ts';

export const THREAD_FAULTS = ['exit', 'throw', 'memory', 'loop', 'segv', 'bootstrap'] as const;
export type ThreadFault = (typeof THREAD_FAULTS)[number];

export interface LostThread {
  readonly fault: ThreadFault;
  /** What was found wrong. */
  readonly findings: readonly string[];
}

const ODD_THREAD = pathToFileURL(join(import.meta.dirname, '../fixtures/agents-odd.ts')).href;
/** Cannot be loaded as long as `broken` is beside it. */
const BROKEN_THREAD = `import { existsSync } from 'node:fs';
if (existsSync(new URL('broken', import.meta.url))) throw new Error('it cannot be loaded');
export { default } from ${JSON.stringify(ODD_THREAD)};
`;
const AGENTS = 4;
/** Of each agent; it reads before each. */
const EDITS = 3;

/** Each fault so many times. */
export async function loseThreads(
  folder: string,
  times: number,
  random: (below: number) => number,
): Promise<{ readonly goals: readonly Goal[]; readonly notes: readonly string[] }> {
  const found: LostThread[] = [];
  for (let n = 0; n < times; n++) {
    for (const fault of THREAD_FAULTS) {
      const at = { agent: random(AGENTS), result: 1 + random(2 * EDITS) };
      found.push(await loseThread(join(folder, `${fault}${n}`), fault, at));
    }
  }
  const findings = found.flatMap(({ fault, findings: some }) => some.map((finding) => `${fault}: ${finding}`));
  const goals = THREAD_FAULTS.map((fault) => {
    const wrong = found.filter((one) => one.fault === fault && one.findings.length > 0).length;
    return atMost(`${fault}: runs in which an agent did not go on as it should`, wrong, 0, 'runs');
  });
  return { goals, notes: [`${found.length} threads of ${AGENTS} agents lost`, ...findings] };
}

/** One fault: where it happens, and what is left when the message is done. */
export async function loseThread(
  folder: string,
  fault: ThreadFault,
  at: { readonly agent: number; readonly result: number },
): Promise<LostThread> {
  const [project, home] = [join(folder, 'project'), join(folder, 'home')];
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, 'ODIN.md'), '# Threads\n');
  for (let n = 0; n < AGENTS; n++) writeFileSync(join(project, `f${n}.txt`), 'end\n');
  const [entry, broken] = [join(folder, 'entry.mjs'), join(folder, 'broken')];
  const wish = `ODD-${fault}@${at.result}`;
  const server = await startScriptedServer({ keepBodies: false, script: (turn) => answer(turn, at.agent, wish) });
  const isBroken = fault === 'bootstrap';
  for (const [path, text] of Object.entries({ [entry]: BROKEN_THREAD, [broken]: '' })) writeFileSync(path, text);
  const agentThreads = {
    url: isBroken ? pathToFileURL(entry).href : ODD_THREAD,
    // Longer than a thread takes to start on a busy machine; half a gigabyte would take long to fill.
    ...{ silentMs: 3_000, memoryMb: 48 },
    ...(isBroken ? { mends: broken } : {}),
  };
  const order: OwnerOrder = { url: server.url, project, home, agentThreads };
  const first = startOwner(order);
  const owners: OwnerChild[] = [first];
  try {
    await first.line(/^open true/);
    const sid = await first.submit({ body: 'agents, please' });
    const findings: string[] = [];
    let last = first;
    if (fault === 'segv') {
      await first.exited;
      if (first.process.signalCode !== 'SIGSEGV') findings.push('the process did not die of it');
      // How often a thread of its was lost is not a process's to know: with this entry the next one would die too.
      const { agentThreads: _odd, ...sound } = order;
      last = startOwner(sound);
      owners.push(last);
      await last.submit({ sid });
    }
    const done = await last.line(new RegExp(`^done ${sid}`)).catch((error: Error) => error.message);
    if (!done.startsWith(`done ${sid} completed`)) return { fault, findings: [...findings, done] };
    const wasLost = (fault === 'segv' ? [] : first.lines).some((line) => line.startsWith('log the thread of an agent'));
    if (fault !== 'segv' && !wasLost) findings.push('no thread was lost');
    return { fault, findings: [...findings, ...(await judge(project, home, sid))] };
  } finally {
    await Promise.all(owners.map((owner) => owner.end()));
    await server.close();
  }
}

/** By the journal and the files, through an Odin of its own that runs nothing. */
async function judge(project: string, home: string, sid: string): Promise<readonly string[]> {
  const odin = await openOdin({ cwd: project, home });
  const findings: string[] = [];
  try {
    const events: StreamEvent[] = [];
    for await (const event of odin.follow(sid, { from: '0', signal: new AbortController().signal })) {
      events.push(event);
      if (event.type === 'AgentDone') break;
    }
    const ends = events.flatMap((event) => (event.type === 'AgentEnded' ? [event.end] : []));
    if (ends.length !== AGENTS || ends.some((end) => end !== 'completed'))
      findings.push(`agents ended: ${ends.join()}`);
    for (let n = 0; n < AGENTS; n++) {
      const tokens = readFileSync(join(project, `f${n}.txt`), 'utf8').match(/^token .*$/gm) ?? [];
      const wanted = Array.from({ length: EDITS }, (_, k) => `token ${n}.${k}`);
      if (tokens.join() !== wanted.join()) findings.push(`f${n}.txt has ${tokens.join()}`);
    }
    const edits = events.filter((event) => event.type === 'ToolResult' && event.tool === 'EditTool');
    if (edits.length !== AGENTS * EDITS) findings.push(`${edits.length} results of edits`);
    const { difference } = await odin.replay(sid);
    if (difference !== null) findings.push(`replay differs: ${JSON.stringify(difference)}`);
    return findings;
  } finally {
    await odin.close();
  }
}

/** The session starts the agents; each of them reads and edits its own file in turns. */
function answer(turn: ScriptedTurn, oddOne: number, wish: string): ScriptedAnswer {
  const { stepOfMessage: step } = turn;
  if (!turn.system.includes('You are a subagent')) {
    if (step > 0) return { text: 'All agents have ended.' };
    const calls = Array.from({ length: AGENTS }, (_, n) => ({
      name: 'AgentTool',
      args: { title: `Editor ${n}`, prompt: `You are number ${n}. ${n === oddOne ? wish : ''}` },
    }));
    return { toolCalls: calls };
  }
  const n = /number (\d)/.exec(turn.messagesText)?.[1] ?? '';
  const k = Math.floor(step / 2);
  if (k >= EDITS) return { text: `Edited f${n}.txt.` };
  const file = { file_path: `f${n}.txt` };
  if (step % 2 === 0) return { toolCalls: [{ name: 'ReadFile', args: { ...file, limit: 10 + step } }] };
  const edit = { old_string: 'end\n', new_string: `token ${n}.${k}\nend\n` };
  return { toolCalls: [{ name: 'EditTool', args: { ...file, ...edit } }] };
}
