// `npm run crash -- paths` (DURABILITY 15, test 2): every path of the agent's machine and of the tool's is driven through the product,
// once undisturbed and once for each of its events in the journal, where the process is killed; another one goes on, and the end must be
// the same. `--kills` bounds how many of these are tried; a seed chooses which.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Goal } from '../../bench/report.ts';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { toAgentEvent } from '../../machines/agent/from-journal.ts';
import { agentMachine } from '../../machines/agent/machine.ts';
import { firstStep, nextStep } from '../../machines/step.ts';
import type { ModelPair, Odin } from '../../orchestrator/api.ts';
import { readLog } from '../../orchestrator/journal-read.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { connectRedis, type RedisHandle } from '../../orchestrator/redis.ts';
import type { JournalEvent, JournalEventType } from '../../shared/events.ts';
import { inlineOf } from '../../shared/payload.ts';
import { crashChild } from '../support/crash-bundle.ts';
import type { TurnsOrder } from '../support/turns-child.ts';
import { agentPlans, type PathPlan, type PlannedAnswer, toolPlans } from './path-plans.ts';

export interface PathsResult {
  readonly paths: number;
  /** Pairs of a path and a step at which the process was killed, and how many there are. */
  readonly tried: number;
  readonly pairs: number;
  /** Processes that were not killed where they should have been. */
  readonly survived: readonly string[];
  /** Paths that the product took another way than the machine's own. */
  readonly strayed: readonly string[];
  /** Ends that were not the same as without the kill. */
  readonly differ: readonly string[];
}

interface Run {
  readonly plan: PathPlan;
  readonly project: string;
  readonly sid: string;
  readonly client: Odin;
}

const STUCK_MS = 240_000;

export async function killOnPaths(
  folder: string,
  most: number,
  random: (below: number) => number,
): Promise<PathsResult> {
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const runs = new Map<string, Run>();
  const handle = await connectRedis({ home, notice: () => {} });
  const eventsOf = async (sid: string) => (await readLog(handle.client, sid, '0')).map(({ event }) => event);
  const server = await startScriptedServer({ keepBodies: false, script: (turn) => answerOf(turn, runs, eventsOf) });
  const chosen = await chooseModel({
    flagModel: 'anthropic/scripted',
    flagSmallModel: 'anthropic/small',
    env: { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url },
  });
  if (!chosen.ok) throw new Error(chosen.failure.message);
  let named = 0;
  const world: PathsWorld = {
    folder: realpathSync(folder),
    home,
    url: server.url,
    models: chosen.value,
    handle,
    runs,
    newName: () => `run${named++}`,
    eventsOf,
  };
  const plans = [...agentPlans(), ...toolPlans()];
  const found = { survived: [] as string[], strayed: [] as string[], differ: [] as string[] };
  try {
    const tasks: { readonly plan: PathPlan; readonly point: string; readonly wanted: string }[] = [];
    // Without the rest of the paths a sample of the pairs needs fewer of them.
    const order = plans.toSorted(() => random(3) - 1);
    const chosenPlans = order.slice(0, Math.min(order.length, Math.max(3, Math.ceil(most / 3))));
    await several(chosenPlans, async (plan) => {
      const run = await begin(world, plan);
      const events = await finishHere(world, run);
      if (!wentAsPlanned(plan, events)) found.strayed.push(`${plan.name}: ${events.map(({ type }) => type).join(' ')}`);
      const wanted = summaryOf(run, events);
      for (const point of pointsOf(events)) tasks.push({ plan, point, wanted });
    });
    // What came first depends on the machine; what is chosen depends on the seed alone.
    tasks.sort((a, b) => chosenPlans.indexOf(a.plan) - chosenPlans.indexOf(b.plan));
    const sample = tasks
      .map((task) => ({ task, key: random(2 ** 30) }))
      .toSorted((a, b) => a.key - b.key)
      .slice(0, most);
    await several(sample, async ({ task: { plan, point, wanted } }) => {
      const run = await begin(world, plan);
      if (!(await dieAt(world, run, point))) found.survived.push(`${plan.name} at ${point}`);
      const after = summaryOf(run, await finishHere(world, run));
      if (after !== wanted) found.differ.push(`${plan.name} at ${point}: ${after} instead of ${wanted}`);
    });
    return { paths: chosenPlans.length, tried: sample.length, pairs: tasks.length, ...found };
  } finally {
    await handle.close();
    await server.close();
  }
}

/** So many at a time: a path waits for processes, time-outs and retries most of its time. */
const SIDE_BY_SIDE = 6;

async function several<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
}

interface PathsWorld {
  readonly folder: string;
  readonly home: string;
  readonly url: string;
  readonly models: ModelPair;
  readonly handle: RedisHandle;
  readonly runs: Map<string, Run>;
  newName(): string;
  eventsOf(sid: string): Promise<readonly JournalEvent[]>;
}

/** A project of its own, whose one message waits for somebody to run it. */
async function begin({ folder, home, runs, newName }: PathsWorld, plan: PathPlan): Promise<Run> {
  const name = newName();
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'ODIN.md'), '# Crash test\n');
  writeFileSync(join(project, 'unread.txt'), 'a\n');
  const client = await openOdin({ cwd: project, home });
  const sid = client.newSession();
  const run = { plan, project, sid, client };
  runs.set(name, run);
  await client.submit(sid, { mode: 'edit', body: `Take the path of ${name};`, limits: { maxSteps: plan.maxSteps } });
  return run;
}

/** Long enough to cancel the wait, where the path does that. */
const retryMsOf = ({ answers }: PathPlan): number =>
  answers.some(({ act: acted }) => acted?.on === 'timer.set') ? 30_000 : 20;

/** Whether a process that runs the message was killed at the point. */
async function dieAt({ url, home }: PathsWorld, { plan, project, sid, client }: Run, point: string): Promise<boolean> {
  const order: TurnsOrder = { url, project, home, asks: true, retryMs: retryMsOf(plan) };
  const { args, env: around } = crashChild('turns-child');
  const env = { ...around, ODIN_KILL_POINTS: `at ${point}` };
  const child = spawn(process.execPath, [...args, JSON.stringify(order)], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env,
  });
  const gone = once(child, 'exit');
  const over = new AbortController();
  const ended = async () => {
    for await (const event of client.follow(sid, { from: '0', signal: over.signal }))
      if (event.type === 'AgentDone') return;
  };
  await Promise.race([gone, ended(), delay(STUCK_MS, undefined, { ref: false })]);
  over.abort();
  // The end is in the journal before the process that wrote it knows.
  await Promise.race([gone, delay(5_000, undefined, { ref: false })]);
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const [, signal] = await gone;
  return signal === 'SIGKILL';
}

/** Runs the message, or what is left of it, to its end in this process. */
async function finishHere(
  { home, models, eventsOf }: PathsWorld,
  { plan, project, sid, client }: Run,
): Promise<readonly JournalEvent[]> {
  const owner = await openOdin({
    cwd: project,
    home,
    models,
    permission: { mode: 'ask', timeoutMs: null, allow: ['echo *', 'sleep *'] },
    retryDelayMs: () => retryMsOf(plan),
  });
  const stop = AbortSignal.timeout(STUCK_MS);
  for await (const event of owner.follow(sid, { from: '0', signal: stop })) if (event.type === 'AgentDone') break;
  await owner.close();
  await client.close();
  return eventsOf(sid);
}

/** The answer that the journal has no end of yet: so many calls of the model have come back. */
async function answerOf(
  { messagesText }: ScriptedTurn,
  runs: ReadonlyMap<string, Run>,
  eventsOf: PathsWorld['eventsOf'],
): Promise<ScriptedAnswer> {
  const run = runs.get(/path of (run\d+);/.exec(messagesText)?.[1] ?? '');
  if (!run) return { text: 'Which path?' };
  const done = (await eventsOf(run.sid)).filter(({ type }) => type === 'llm.res' || type === 'llm.fail').length;
  const planned = run.plan.answers[done];
  if (planned?.act) void act(run, planned.act, done, eventsOf);
  return planned?.answer ?? { text: 'Beyond the path.' };
}

/** Does what a user does, when it is time, whoever runs the message then; again when that one died before it took it up. */
async function act(
  run: Run,
  { on, what }: NonNullable<PlannedAnswer['act']>,
  done: number,
  eventsOf: PathsWorld['eventsOf'],
): Promise<void> {
  const until = performance.now() + STUCK_MS;
  while (performance.now() < until) {
    const events = await eventsOf(run.sid).catch((): JournalEvent[] => []);
    const taken = what === 'cancel' ? 'cancel' : 'perm.answer';
    if (events.some(({ type }) => type === taken || type === 'msg.done')) return;
    const from = on === 'llm.req' ? 0 : events.findIndex(({ type }) => type === 'llm.res' || type === 'llm.fail');
    const asked = events.findLast((event, i) => event.type === on && i > from);
    const answers = events.filter(({ type }) => type === 'llm.res' || type === 'llm.fail').length;
    if (asked && answers >= (on === 'llm.req' ? done : done + 1)) {
      if (what === 'cancel') await run.client.cancel(run.sid, 'path').catch(() => {});
      else if (asked.type === 'perm.ask')
        await run.client.answer(asked.question.id, what, { by: 'path' }).catch(() => {});
    }
    await delay(30);
  }
}

/** Where the process may be killed: at each event of the message, durable or on its way, and around its end. */
function pointsOf(events: readonly JournalEvent[]): readonly string[] {
  const seen = new Map<JournalEventType, number>();
  return events.flatMap(({ type }) => {
    if (type === 'claim') return [];
    if (type === 'msg.done') return ['journal:finishing 1', 'journal:finished 1'];
    const n = (seen.get(type) ?? 0) + 1;
    seen.set(type, n);
    return [`recorded:${type} ${n}`, `durable:${type} ${n}`];
  });
}

/** The agent's path as the journal tells it; of a tool's path its effects and its end are compared, not its states. */
function wentAsPlanned(plan: PathPlan, events: readonly JournalEvent[]): boolean {
  if (!plan.name.startsWith('agent')) return true;
  const input = { seq: 1, limits: { maxSteps: plan.maxSteps }, models: 1 };
  let [snapshot] = firstStep(agentMachine, input);
  const states: string[] = [];
  for (const event of events.map(toAgentEvent)) {
    if (event === null || snapshot.status === 'done') continue;
    [snapshot] = nextStep(agentMachine, snapshot, event);
    states.push(String(snapshot.value));
  }
  return states.join() === plan.states.join();
}

/** What must be the same. What a cancel stopped may have come to different ends: then each call has one, and no more. */
function summaryOf({ plan, project }: Run, events: readonly JournalEvent[]): string {
  const isCancelled = plan.answers.some(({ act: acted }) => acted?.what === 'cancel');
  const end = events.findLast((event) => event.type === 'msg.done');
  const results = events.flatMap((event) =>
    event.type === 'tool.done' ? [`${event.op} ${event.name} ${event.kind}`] : [],
  );
  const files = readdirSync(project).filter((file) => file.startsWith('made'));
  const effects = join(project, 'effects');
  const ran = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
  const told = end?.type === 'msg.done' ? inlineOf(end.answer).replace(/about \d+ tokens/, 'some tokens') : null;
  return JSON.stringify({
    ends: events.filter(({ type }) => type === 'msg.done').length,
    status: end?.type === 'msg.done' ? end.status : null,
    failure: end?.type === 'msg.done' ? (end.failure?.code ?? null) : null,
    ...(isCancelled
      ? {}
      : {
          answer: told,
          steps: end?.type === 'msg.done' ? end.steps : null,
        }),
    results: results.map((line) => (isCancelled ? line.replace(/ \w+$/, '') : line)).toSorted(),
    ...(isCancelled
      ? { ranTwice: ran.length - new Set(ran).size }
      : { files: files.map((file) => `${file} ${readFileSync(join(project, file), 'utf8').trim()}`), ran }),
  });
}

export const pathsGoals = ({ survived, strayed, differ }: PathsResult): readonly Goal[] => [
  atMost('kills that were not made', survived.length, 0, 'kills'),
  atMost('paths that went another way', strayed.length, 0, 'paths'),
  atMost('ends that are not the same', differ.length, 0, 'ends'),
];

export const pathsNotes = ({ paths, tried, pairs, survived, strayed, differ }: PathsResult): readonly string[] => [
  `${tried} of ${pairs} pairs of a path and a step, of ${paths} paths`,
  ...[...survived.map((line) => `not killed: ${line}`), ...strayed.map((line) => `strayed: ${line}`), ...differ],
];
