// Every fault of a provider that is known, played to a whole Odin on all three APIs, at the first and at a later step (issue 5). Each
// ends as docs/troubles.md says, nothing hangs, and the next message of the same session is always answered. All sessions share one
// Odin and one model server; the script finds its part in the user's message.

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedFault, ScriptedTurn } from '../../llm/scripted/script.ts';
import { MAX_ATTEMPTS, MAX_CUTS } from '../../machines/agent/machine.ts';
import type { Odin } from '../../orchestrator/api.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { withEnoughTime } from '../support/enough-time.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

interface Part {
  readonly fault?: ScriptedFault;
  /** What is answered with the fault. Default: the text. */
  readonly answer?: ScriptedAnswer;
}

const APIS = ['anthropic', 'responses', 'chat'] as const;
const STEPS = [1, 2] as const;
const ALWAYS = 99;
/** How long a silence lasts; longer where the machine was so slow that it made some of its own. */
const PATIENCES_MS = [1_000, 4_000, 16_000, 64_000];
const silent = (api: string, ms: number): string => `${api}-silent-${ms}`;
const TEXT = 'All is well, and this is said at some length so that half of it is worth something.';

/** Passes by itself: retried, and when it stays, the end. `isSilent`: found by a time limit. */
const PASSING: readonly (readonly [fault: ScriptedFault, code: string, isSilent?: 'silent'])[] = [
  ['http_408', 'server_error'],
  ['http_409', 'server_error'],
  ['http_429', 'rate_limit'],
  ['http_500', 'server_error'],
  ['http_503', 'overloaded'],
  ['http_529', 'overloaded'],
  ['page_502', 'server_error'],
  ['json_200', 'overloaded|server_error'],
  ['reset', 'network'],
  ['empty_stream', 'cut_stream'],
  ['cut', 'cut_stream'],
  ['quiet_end', 'cut_stream'],
  ['bad_json', 'cut_stream'],
  ['error_event', 'overloaded|server_error'],
  ['stall', 'stalled_stream', 'silent'],
  ['no_headers', 'stalled_stream', 'silent'],
  ['pings', 'stalled_stream', 'silent'],
];

/** The end of the message; `more`: steps in which the model is asked to go on before that. */
const LASTING: readonly (readonly [name: string, code: string, part?: Part, more?: number])[] = [
  ['http_400', 'bad_request'],
  ['http_401', 'auth'],
  ['http_402', 'quota'],
  ['http_404', 'unknown_model'],
  ['http_422', 'bad_request'],
  ['page_200', 'bad_response'],
  ['refusal', 'refusal'],
  ['content_filter', 'refusal'],
  ['http_400_context', 'context_too_long'],
  ['http_413', 'context_too_long'],
  ['context_full', 'context_too_long'],
  ['http_429 with a long wait', 'rate_limit', { fault: 'http_429', answer: { retryAfter: 900 } }],
  ['max_tokens', 'output_limit', { fault: 'max_tokens' }, MAX_CUTS],
  ['thoughts alone, always', 'empty_answer', { answer: { thinking: 'Hm.' } }, MAX_CUTS],
];

/** Answers that are odd and no failure. */
const ODD: readonly (readonly [name: string, part: Part, end: RegExp, cut?: 'output_limit' | 'empty'])[] = [
  ['a text cut off at the output limit', { fault: 'max_tokens' }, new RegExp(`^${TEXT}${TEXT}$`), 'output_limit'],
  [
    'a call cut off at the output limit',
    { fault: 'max_tokens', answer: { text: 'I look.', toolCalls: [{ name: 'LS', args: { path: '.' } }] } },
    new RegExp(`^${TEXT}$`),
    'output_limit',
  ],
  ['thoughts alone', { answer: { thinking: 'Hm.' } }, new RegExp(`^${TEXT}$`), 'empty'],
  ['nothing at all', { answer: {} }, new RegExp(`^${TEXT}$`), 'empty'],
  ['no usage', { fault: 'no_usage' }, new RegExp(`^${TEXT}$`)],
  [
    'two calls with one id',
    {
      fault: 'same_call_ids',
      answer: {
        toolCalls: [
          { name: 'LS', args: { path: '.' } },
          { name: 'Glob', args: { pattern: '*' } },
        ],
      },
    },
    new RegExp(`^${TEXT}$`),
  ],
  ['a call whose arguments are no JSON', { answer: { toolCalls: [{ name: 'LS', args: '{"pa' }] } }, /All is well/],
  ['a call of a tool that is not there', { answer: { toolCalls: [{ name: 'a b!', args: {} }] } }, /All is well/],
];

/** What is played in a message: its words name it. */
const parts = new Map<string, { readonly part: Part; readonly at: number; times: number; answers: number }>();

function script(turn: ScriptedTurn): ScriptedAnswer {
  const [words, id = ''] = [...turn.messagesText.matchAll(/^play <(.*?)>|^next$/gm)].at(-1) ?? [];
  if (words === 'next') return { text: 'still here' };
  const play = parts.get(id);
  if (!play) throw new Error(`Nothing to play: ${turn.userText}`);
  // Where silences are short, a machine under load makes some of its own, and an answer is asked for again: the request knows the step.
  const step = 1 + (id.includes(' silent ') ? turn.stepOfMessage : play.answers);
  if (step === play.at && play.times > 0) {
    play.times -= 1;
    const { answer = { text: TEXT }, fault } = play.part;
    return fault === undefined ? answer : { ...answer, fault };
  }
  play.answers += 1;
  if (step < play.at) return { text: 'I look.', toolCalls: [{ name: 'LS', args: { path: '.' } }] };
  return { text: TEXT };
}

let world: World;
let odin: Odin;
let leave: () => void;
let closed: Promise<void>;

beforeAll(async () => {
  const opened = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  leave = left.resolve;
  closed = withWorld({ script }, async (one) => {
    world = one;
    const { url } = one.server;
    const servers = { anthropic: url, responses: `${url}/v1`, chat: `${url}/v1` };
    const kinds = { anthropic: 'anthropic', responses: 'openai', chat: 'openai-chat' } as const;
    const providers = Object.fromEntries(
      APIS.flatMap((api) => {
        const provider = { kind: kinds[api], baseURL: servers[api] };
        return [
          [api, { ...provider, idleTimeoutMs: 120_000 }],
          ...PATIENCES_MS.map((ms) => [silent(api, ms), { ...provider, idleTimeoutMs: ms, quietTimeoutMs: ms + 500 }]),
        ];
      }),
    );
    odin = await one.open({ providers, retryDelayMs: () => 1 });
    opened.resolve();
    await left.promise;
  });
  await Promise.race([opened.promise, closed]);
  // The SDKs load with the first call, which would count as a silence.
  await Promise.all(APIS.map((api) => play(plan(api, 'nothing', {}, 1, 0))));
  void startAll();
});

afterAll(async () => {
  leave();
  await closed;
});

interface Played {
  readonly events: readonly StreamEvent[];
  /** The same session's next message. */
  readonly next: readonly StreamEvent[];
  readonly statuses: readonly string[];
}

interface Session {
  readonly name: string;
  readonly isSilent: boolean;
  readonly api: string;
  readonly part: Part;
  readonly at: number;
  readonly times: number;
  readonly played: PromiseWithResolvers<Played>;
}

const sessions: Session[] = [];
const AT_ONCE = 32;
/** All that wait for time limits: while they do, nothing else keeps the machine from answering in time. */
const SILENT_AT_ONCE = 64;

/** Plans a session: a message with the fault in it, and one after it. All are played together once Odin is open. */
function plan(api: string, name: string, part: Part, at: number, times: number, isSilent = false): Session {
  const id = `${api} ${at} ${name} ${times}`;
  const session = { name: id, isSilent, api, part, at, times, played: Promise.withResolvers<Played>() };
  session.played.promise.catch(() => {});
  sessions.push(session);
  return session;
}

async function startAll(): Promise<void> {
  await playAll(
    sessions.filter(({ isSilent }) => isSilent),
    SILENT_AT_ONCE,
  );
  await playAll(
    sessions.filter(({ isSilent }) => !isSilent),
    AT_ONCE,
  );
}

async function playAll(some: readonly Session[], atOnce: number): Promise<void> {
  const waiting = some.values();
  const lane = async () => {
    for (const session of waiting) await play(session).then(session.played.resolve, session.played.reject);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

async function play(session: Session): Promise<Played> {
  const { name, api, isSilent, times } = session;
  if (!isSilent) return playWith(session, api, name);
  return withEnoughTime(PATIENCES_MS[0] ?? 0, async (ms) => {
    const played = await playWith(session, silent(api, ms), `${name} silent ${ms}`);
    const isUndisturbed = waitsOf(played.events).length === (times === ALWAYS ? MAX_ATTEMPTS - 1 : times);
    return isUndisturbed || !PATIENCES_MS.includes(ms * 4) ? played : undefined;
  });
}

async function playWith({ api, part, at, times }: Session, provider: string, id: string): Promise<Played> {
  parts.set(id, { part, at, times, answers: 0 });
  const sid = odin.newSession();
  const events = await world.ask(odin, sid, { mode: 'ask', body: `play <${id}>`, model: `${provider}/scripted` });
  const next = await world.ask(odin, sid, { mode: 'ask', body: 'next', model: `${api}/scripted` });
  const { messages } = await odin.state(sid);
  return { events, next, statuses: messages.map(({ status }) => status) };
}

const waitsOf = (events: readonly StreamEvent[]) => events.filter((event) => event.type === 'RetryScheduled');

/** What happened; by then the session must have gone on as if nothing had. */
async function seen({ played }: Session) {
  const { events, next, statuses } = await played.promise;
  const done = only(events, 'AgentDone');
  expect(only(next, 'AgentDone')).toMatchObject({ status: 'completed', answer: 'still here' });
  expect(statuses).toEqual([done.status, 'completed']);
  return { events, done, waits: waitsOf(events) };
}

const cases = <T extends readonly unknown[]>(list: readonly T[]) =>
  APIS.flatMap((api) => STEPS.flatMap((at) => list.map((one) => ({ api, at, name: one[0], one }))));

describe('O2 E1 E9: what a provider can do wrong', () => {
  for (const { api, at, one } of cases(PASSING)) {
    const [fault, code, isSilent] = one;
    const once = plan(api, fault, { fault }, at, 1, isSilent !== undefined);
    const always = plan(api, fault, { fault }, at, ALWAYS, isSilent !== undefined);

    test(`${api}, step ${at}: ${fault} passes`, async () => {
      const { done, waits } = await seen(once);
      expect(done).toMatchObject({ status: 'completed', answer: TEXT, steps: at });
      expect(waits[0]).toMatchObject({ code: expect.stringMatching(code), attempt: 2, attempts: MAX_ATTEMPTS });
      expect(waits).toHaveLength(1);
    });

    test(`${api}, step ${at}: ${fault} stays`, async () => {
      const { events, done, waits } = await seen(always);
      const error = only(events, 'AgentError');
      expect(error).toMatchObject({ code: expect.stringMatching(code), step: at });
      expect(error.message).toContain(`Tried ${MAX_ATTEMPTS} times.`);
      expect(done).toMatchObject({ status: 'planner_failure', steps: at });
      expect(done.answer).toContain(`[Failed at step ${at}: ${error.code}: ${error.message}]`);
      expect(waits.map((wait) => wait.attempt)).toEqual([2, 3, 4, 5, 6]);
    });
  }

  for (const { api, at, one } of cases(LASTING)) {
    const [name, code, part = { fault: name as ScriptedFault }, more = 0] = one;
    const session = plan(api, name, part, at, ALWAYS);
    const step = at + more;
    test(`${api}, step ${at}: ${name} is the end`, async () => {
      const { events, done, waits } = await seen(session);
      expect(only(events, 'AgentError')).toMatchObject({ code, step });
      expect(done).toMatchObject({ status: 'planner_failure', steps: step });
      expect(done.answer).toContain(`[Failed at step ${step}: ${code}: `);
      expect(events.filter((event) => event.type === 'AnswerCut')).toHaveLength(more === 0 ? 0 : more + 1);
      expect(waits).toEqual([]);
    });
  }

  for (const { api, at, one } of cases(ODD)) {
    const [name, part, answer, cut] = one;
    const session = plan(api, name, part, at, 1);
    test(`${api}, step ${at}: ${name} is no end`, async () => {
      const { events, done, waits } = await seen(session);
      expect(done).toMatchObject({ status: 'completed', answer: expect.stringMatching(answer) });
      expect(events.flatMap((event) => (event.type === 'AnswerCut' ? [event.why] : []))).toEqual(cut ? [cut] : []);
      expect(waits).toEqual([]);
    });
  }
});
