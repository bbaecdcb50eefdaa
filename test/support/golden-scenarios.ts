// The sessions behind the golden journals: small, with a scripted model, one for each way that a message can go.

import type { Script } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { type World, withWorld } from './odin-world.ts';

export interface Scenario {
  readonly script: Script;
  readonly open?: Parameters<World['open']>[0];
  readonly userConfig?: object;
  run(world: World, odin: Odin, sid: string): Promise<void>;
}

const FILES = { 'src/retry.ts': 'export const attempts = 3; // retry policy\n', 'README.md': '# Retry\n' };
const EDITS = { permission: { mode: 'accept-edits', timeoutMs: null } } as const;
const soon = () => 1;

const write = (name: string, content: string) => ({ name: 'WriteFile', args: { file_path: name, content } });

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ask: {
    script: ({ stepOfMessage }) =>
      stepOfMessage === 0
        ? {
            thinking: 'Where could it be?',
            text: 'Looking.',
            toolCalls: [{ name: 'Grep', args: { pattern: 'retry policy' } }],
          }
        : { text: 'In src/retry.ts:1.' },
    async run(world, odin, sid) {
      await world.ask(odin, sid, { mode: 'ask', body: 'where is the retry policy?' });
      await world.ask(odin, sid, { mode: 'plan', body: 'and how would you change it?' });
    },
  },
  'parallel-tools': {
    script: ({ stepOfMessage }) =>
      stepOfMessage === 0
        ? {
            toolCalls: [
              { name: 'LS', args: { path: '.' } },
              { name: 'ReadFile', args: { file_path: 'README.md' } },
              { name: 'ReadFile', args: { file_path: 'missing.md' } },
              { name: 'NoSuchTool', args: {} },
              { name: 'Grep', args: 'no json' },
            ],
          }
        : { text: 'Looked.' },
    run: (world, odin, sid) => asked(world, odin, sid, 'look around'),
  },
  question: {
    script: ({ stepOfMessage }) =>
      stepOfMessage < 2 ? { toolCalls: [write('a.txt', `v${stepOfMessage}\n`)] } : { text: 'Done.' },
    open: { permission: { mode: 'ask', timeoutMs: null } },
    userConfig: { permissions: { WriteFile: 'ask' } },
    async run(world, odin, sid) {
      const stop = new AbortController();
      const stream = odin.follow(sid, { from: '$', signal: stop.signal });
      await odin.submit(sid, { mode: 'edit', body: 'write a.txt twice' });
      let answers = 0;
      for await (const event of stream) {
        if (event.type === 'PermissionAsked')
          await odin.answer(event.questionId, answers++ === 0 ? 'allow' : 'deny', { by: 'user', word: 'not again' });
        if (event.type === 'AgentDone') stop.abort();
      }
    },
  },
  cancel: {
    script: ({ stepOfMessage }) =>
      stepOfMessage === 0
        ? { toolCalls: [{ name: 'LS', args: { path: '.' } }] }
        : { text: 'slowly …', delayMs: 60_000 },
    async run(world, odin, sid) {
      const ended = world.ask(odin, sid, { mode: 'ask', body: 'take your time' });
      for await (const event of odin.follow(sid, { from: '0', signal: new AbortController().signal })) {
        if (event.type === 'StepStarted' && event.step === 2) break;
      }
      await odin.cancel(sid, 'user');
      await ended;
    },
  },
  retry: {
    script: ({ requestIndex }) => (requestIndex < 2 ? { fault: 'http_529' } : { text: 'At last.' }),
    open: { retryDelayMs: soon },
    run: (world, odin, sid) => asked(world, odin, sid, 'try'),
  },
  undo: {
    script: ({ stepOfMessage, userText }) =>
      stepOfMessage === 0 ? { toolCalls: [write(`${userText.slice(0, 1)}.txt`, 'text\n')] } : { text: 'Written.' },
    open: EDITS,
    async run(world, odin, sid) {
      for (const body of ['a', 'b']) await world.ask(odin, sid, { mode: 'edit', body });
      for (const [type, count] of [
        ['undo', 2],
        ['redo', 1],
        ['undo', 9],
      ] as const) {
        await world.ask(odin, sid, { mode: 'edit', body: `/${type} ${count}`, command: { type, count } });
      }
    },
  },
  compaction: {
    script: (turn) => {
      if (turn.model === 'small') return { text: 'SUMMARY: they looked around.' };
      if (turn.messagesText.includes('SUMMARY') || turn.userText.startsWith('hello')) return { text: 'The end.' };
      return {
        toolCalls: [
          turn.stepOfMessage === 0 ? { name: 'LS', args: { path: '.' } } : { name: 'ContextSummarizer', args: {} },
        ],
      };
    },
    async run(world, odin, sid) {
      await world.ask(odin, sid, { mode: 'ask', body: 'hello' });
      await world.ask(odin, sid, { mode: 'ask', body: 'look, then make room' });
    },
  },
  budget: {
    script: () => ({ toolCalls: [{ name: 'LS', args: { path: '.' } }] }),
    async run(world, odin, sid) {
      await world.ask(odin, sid, { mode: 'ask', body: 'go on', limits: { maxSteps: 50, tokens: 6_000 } });
      await world.ask(odin, sid, { mode: 'ask', body: 'a little', limits: { maxSteps: 2 } });
    },
  },
  fallback: {
    script: (turn) => (turn.model === 'scripted' ? { fault: 'http_401' } : { text: 'From the other one.' }),
    run: (world, odin, sid) => asked(world, odin, sid, 'go', { fallbackModels: ['anthropic/other'] }),
  },
  hooks: {
    script: ({ stepOfMessage }) =>
      stepOfMessage === 0 ? { toolCalls: [{ name: 'LS', args: { path: '.' } }] } : { text: 'It may not.' },
    open: { hooks: [{ name: 'no-ls', toolCall: () => ({ decision: 'deny', reason: 'Not here.' }) }] },
    run: (world, odin, sid) => asked(world, odin, sid, 'list'),
  },
};

async function asked(world: World, odin: Odin, sid: string, body: string, more: object = {}): Promise<void> {
  await world.ask(odin, sid, { mode: 'ask', body, ...more });
}

/** The lines of the session's journal, as `odin sessions export` gives them. */
export function record({ script, open, userConfig, run }: Scenario): Promise<readonly object[]> {
  return withWorld({ script, files: FILES, ...(userConfig ? { userConfig } : {}) }, async (world) => {
    const odin = await world.open(open);
    const sid = odin.newSession();
    await run(world, odin, sid);
    const lines: object[] = [];
    for await (const line of odin.export(sid)) lines.push(line as object);
    return settled(lines, world, sid);
  });
}

/** Without what is different in every run: places, times, processes, ids that are drawn. */
function settled(lines: readonly object[], world: World, sid: string): readonly object[] {
  const mids = new Map<string, string>();
  let now = 1_700_000_000_000;
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  const same = text
    .replaceAll(world.project, '/project')
    .replaceAll(world.home, '/home/odin')
    .replaceAll(sid, '0'.repeat(26))
    .replace(/"(pid|durationMs)":\d+/g, '"$1":1')
    .replace(/"(startTime|host)":"[^"]*"/g, '"$1":"here"')
    .replace(/"(at|dueAt|expiresAt)":\d+/g, (_, name: string) => `"${name}":${(now += 1000)}`)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/g, '2023-11-14T22:13:20')
    .replace(/today: \d{4}-\d\d-\d\d/g, 'today: 2023-11-14')
    .replace(/"mid":"([^"]+)"/g, (_, mid: string) => {
      if (!mids.has(mid)) mids.set(mid, `mid-${mids.size + 1}`);
      return `"mid":"${mids.get(mid)}"`;
    });
  return same.split('\n').map((line) => JSON.parse(line) as object);
}
