// /metrics for Prometheus (SPEC E16): counters and durations from the journals' events since the dashboard began, what is so now from the
// sessions as they stand, and what the orchestrator says of itself. It reads; nothing is counted in an orchestrator for its sake.

import type { OdinRedis } from '../orchestrator/redis.ts';
import { type Figures, readFigures } from '../orchestrator/watch/figures.ts';
import { oldestWaiting } from '../orchestrator/watch/oldest-waiting.ts';
import type { SessionWatch } from '../orchestrator/watch/session-watch.ts';
import type { Journaled } from '../shared/events.ts';
import type { Usage } from '../shared/messages.ts';
import type { Rates } from '../shared/spending.ts';

export interface Metrics {
  take(sid: string, entry: Journaled, bytes: number): void;
  /** In Prometheus' text format. */
  text(watch: SessionWatch): Promise<string>;
  /** Whether somebody reads them, as far as one can know. */
  isRead(): boolean;
  readonly contentType: string;
}

/** What of a session is open: since when, and by whom. */
interface Open {
  claimed: number;
  turn: { readonly at: number; readonly mode: string } | null;
  step: { readonly at: number; readonly model: string } | null;
}

const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];
/** Who reads them does so again within this time. */
const READ_AGAIN_MS = 150_000;
/** What is journaled meanwhile is read when somebody asks, for at most so long; what is left counts the next time. */
const MOST_READING_MS = 1_500;
const STATUSES = ['idle', 'running', 'queued', 'interrupted', 'archived'] as const;

export async function createMetrics(deps: {
  readonly redis: OdinRedis;
  readonly ws: string;
  readonly rates: Rates;
  /** Gives what batches' tasks have journaled to `take`. */
  readTasks(): Promise<void>;
  now(): number;
}): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry } = await import('prom-client');
  const { redis, ws, rates, now } = deps;
  const register = new Registry();
  const registers = [register];
  const flushes: (() => void)[] = [];
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) => {
    const made = new Counter<T>({ name, help, labelNames, registers });
    const tally = createTally<T>();
    flushes.push(() => tally.drain((labels, value) => made.inc(labels, value)));
    return tally;
  };
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge<T>({ name, help, labelNames, registers });
  const seconds = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Histogram<T>({ name, help, labelNames, buckets: SECONDS, registers });

  const events = counter('odin_journal_events_total', 'Events journaled, by type.', ['type']);
  const bytes = counter('odin_journal_bytes_total', 'Bytes that journals have grown by in Redis.');
  const turns = seconds('odin_turn_seconds', 'From the start of a message to its end.', ['mode', 'status']);
  const steps = seconds('odin_step_seconds', 'From a request to its answer.', ['model']);
  const tools = seconds('odin_tool_seconds', 'Tool calls.', ['tool', 'status']);
  const tokens = counter('odin_tokens_total', 'Tokens; cache_read and cache_write are part of input.', [
    'model',
    'kind',
  ]);
  const money = counter('odin_cost_usd_total', 'USD, of the calls whose price is known.', ['model']);
  const unpriced = counter('odin_unpriced_calls_total', 'Calls of models whose price is not known.', ['model']);
  const retries = counter('odin_model_retries_total', 'Requests that were tried again, by what had failed.', ['code']);
  const resumes = counter('odin_resumes_total', 'Messages that another owner went on with.');
  const sessions = gauge('odin_sessions', 'Sessions, by status.', ['status']);
  const waiting = gauge('odin_queue_messages', 'Messages that wait.');
  const oldest = gauge('odin_queue_oldest_seconds', 'Age of the message that has waited longest; 0 when none waits.');
  const questions = gauge('odin_questions_open', 'Questions that wait for an answer.');
  const unread = gauge('odin_dashboard_unread_sessions', 'Sessions whose newest events the counters may not have yet.');
  const own = ownFigures(gauge);

  const ofTool = cached((tool: string, status: string) => tools.labels({ tool, status }));
  const ofModel = cached((model: string) => steps.labels({ model }));
  const open = new Map<string, Open>();
  const since = now();
  let readAt = Number.NEGATIVE_INFINITY;

  const spend = (model: string, usage: Usage): void => {
    tokens.inc({ model, kind: 'input' }, usage.input);
    tokens.inc({ model, kind: 'output' }, usage.output);
    tokens.inc({ model, kind: 'cache_read' }, usage.cacheRead);
    tokens.inc({ model, kind: 'cache_write' }, usage.cacheWrite);
    const usd = rates.costOfCall(model, usage);
    if (usd === null) unpriced.inc({ model });
    else money.inc({ model }, usd);
  };

  const take: Metrics['take'] = (sid, { id, event }, size) => {
    const at = 'at' in event && event.at !== undefined ? event.at : since;
    const isNew = at >= since;
    const state = open.get(sid) ?? { claimed: 0, turn: null, step: null };
    open.set(sid, state);
    if (isNew) {
      events.inc({ type: event.type });
      bytes.inc({}, size);
    }
    switch (event.type) {
      case 'claim':
        if (isNew && state.claimed === event.seq) resumes.inc({});
        state.claimed = event.seq;
        return;
      case 'msg.start':
        state.turn = { at, mode: event.mode };
        return;
      case 'llm.req':
        state.step = { at, model: event.model };
        return;
      case 'llm.res': {
        const { step } = state;
        state.step = null;
        if (!isNew) return;
        if (step !== null) ofModel(step.model).observe((at - step.at) / 1000);
        return spend(step?.model ?? event.model, event.usage);
      }
      case 'llm.fail':
        if (isNew && event.usage !== undefined && state.step !== null) spend(state.step.model, event.usage);
        state.step = null;
        return;
      case 'aux.used':
        if (isNew) spend(event.model, event.usage);
        return;
      case 'timer.set':
        if (isNew) retries.inc({ code: event.why });
        return;
      case 'tool.done': {
        // A name that no tool has is the model's own, and could be any.
        const tool = event.kind === 'invalid' ? 'invalid' : event.name;
        if (isNew) ofTool(tool, event.kind).observe(event.durationMs / 1000);
        return;
      }
      case 'msg.done':
        if (isNew && state.turn !== null) {
          turns.observe({ mode: state.turn.mode, status: event.status }, (at - state.turn.at) / 1000);
        }
        state.turn = null;
        state.step = null;
        return;
      // A subagent's own, with times of its own.
      case 'agent.ev':
        take(`${sid}/${event.aid}`, { id, event: event.event }, 0);
        return;
      case 'agent.done':
        open.delete(`${sid}/${event.aid}`);
        return;
      default:
    }
  };

  return {
    contentType: register.contentType,
    take,
    isRead: () => performance.now() - readAt < READ_AGAIN_MS,
    async text(watch) {
      readAt = performance.now();
      await Promise.all([watch.catchUp(MOST_READING_MS), deps.readTasks()]);
      for (const flush of flushes) flush();
      const all = watch.all();
      for (const status of STATUSES) sessions.set({ status }, all.filter((one) => one.status === status).length);
      waiting.set(all.reduce((sum, { queued }) => sum + queued, 0));
      questions.set(watch.questions().length);
      unread.set({}, watch.unread());
      const first = await oldestWaiting(redis, all);
      oldest.set(first === null ? 0 : Math.max(0, (now() - first) / 1000));
      own(await readFigures(redis, ws));
      return register.metrics();
    },
  };
}

type Labels<T extends string> = Partial<Record<T, string>>;

/** Counts by labels until somebody reads them: in the registry each count would look its labels up. */
function createTally<T extends string>() {
  const counts = new Map<string, { readonly labels: Labels<T>; value: number }>();
  return {
    inc(labels: Labels<T>, by = 1): void {
      const name = Object.values(labels).join('\n');
      const count = counts.get(name);
      if (count === undefined) counts.set(name, { labels, value: by });
      else count.value += by;
    },
    drain(take: (labels: Labels<T>, value: number) => void): void {
      for (const { labels, value } of counts.values()) take(labels, value);
      counts.clear();
    },
  };
}

/** What `make` makes of a few words, made once for each. */
function cached<T>(make: (...words: readonly string[]) => T): (...words: readonly string[]) => T {
  const made = new Map<string, T>();
  return (...words) => {
    const name = words.join('\n');
    const found = made.get(name) ?? make(...words);
    made.set(name, found);
    return found;
  };
}

type MakeGauge = <T extends string>(
  name: string,
  help: string,
  labelNames?: readonly T[],
) => { set(labels: Partial<Record<T, string>>, value: number): void };

/** What an orchestrator says of itself; nothing but `odin_orchestrator_up 0` when none does. */
function ownFigures(gauge: MakeGauge): (figures: Figures | null) => void {
  const up = gauge('odin_orchestrator_up', '1 while a process runs the turns of this project.');
  const lag = gauge('odin_event_loop_lag_seconds', 'How late its event loop was in the last seconds.', ['quantile']);
  const rss = gauge('odin_orchestrator_rss_bytes', 'Its memory.');
  const cache = gauge('odin_file_cache', 'Its file cache, in sum since it began; entries and bytes are of now.', [
    'what',
  ]);
  const locks = gauge('odin_lock_waits', 'Waits for the lock of a file since it began.');
  const waited = gauge('odin_lock_wait_seconds', 'Time in these waits.');
  return (figures) => {
    up.set({}, figures === null ? 0 : 1);
    if (figures === null) return;
    lag.set({ quantile: '0.5' }, figures.lagMs.p50 / 1000);
    lag.set({ quantile: '0.99' }, figures.lagMs.p99 / 1000);
    lag.set({ quantile: '1' }, figures.lagMs.max / 1000);
    rss.set({}, figures.rssBytes);
    for (const [what, value] of Object.entries(figures.cache)) cache.set({ what }, value);
    locks.set({}, figures.locks.waits);
    waited.set({}, figures.locks.waitedMs / 1000);
  };
}
