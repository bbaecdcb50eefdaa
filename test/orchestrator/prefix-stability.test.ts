// What provider caches live on, over a whole session: thirty turns that read, edit, keep todos and find files changed by others.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedCall, ScriptedTurn } from '../../llm/scripted/script.ts';
import { only, withWorld } from '../support/odin-world.ts';

const KINDS = { anthropic: 'anthropic', responses: 'openai', chat: 'openai-chat' } as const;
type Api = keyof typeof KINDS;
const APIS = ['anthropic', 'responses', 'chat'] as const;
const TURNS = 30;
const PER_MESSAGE = 10;

const lines = (n: number) => Array.from({ length: 40 }, (_, line) => `line ${line} of file ${n}`).join('\n');
const files = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`f${n}.txt`, lines(n)]));

const readOf = (n: number): ScriptedCall => ({ name: 'ReadFile', args: { file_path: `f${n % 6}.txt` } });

/** One turn of the session; every kind of step comes several times. */
function answerOf(turn: number): ScriptedAnswer {
  if (turn % PER_MESSAGE === PER_MESSAGE - 1) return { thinking: 'Enough.', text: `Done with part ${turn}.` };
  const n = turn % 6;
  switch (turn % 5) {
    case 0:
      return {
        thinking: 'I look.',
        text: 'I look around.',
        toolCalls: [readOf(turn), readOf(turn + 1), { name: 'LS', args: { path: '.' } }],
      };
    case 1: {
      const todos = [1, 2, 3].map((id) => ({ id: `${id}`, content: `Task ${id} of ${turn}`, status: 'pending' }));
      return { toolCalls: [{ name: 'TodoWrite', args: { todos } }] };
    }
    case 2:
      return { text: 'Again.', toolCalls: [readOf(n)] };
    case 3: {
      const args = {
        file_path: `f${(turn - 1) % 6}.txt`,
        old_string: `line 3 of`,
        new_string: `line three (${turn}) of`,
      };
      return { thinking: 'I change it.', toolCalls: [{ name: 'EditTool', args }] };
    }
    default:
      return { toolCalls: [{ name: 'Grep', args: { pattern: 'line 1', output_mode: 'content' } }, readOf(turn)] };
  }
}

test('O8: over 30 turns with edits, todos and files that others change, ≥ 99 % of each prompt begins the next, on all three APIs', async () => {
  const turns: Record<Api, number> = { anthropic: 0, responses: 0, chat: 0 };
  let change = (_api: Api, _turn: number) => {};
  const script = ({ api }: ScriptedTurn): ScriptedAnswer => {
    const turn = turns[api]++;
    if (turn % 7 === 6) change(api, turn);
    return answerOf(turn);
  };
  await withWorld({ script, files }, async (world) => {
    change = (api, turn) =>
      writeFileSync(join(world.project, `f${turn % 6}.txt`), `${lines(turn % 6)}\nadded at ${api} ${turn}\n`);
    const baseURL = {
      anthropic: world.server.url,
      responses: `${world.server.url}/v1`,
      chat: `${world.server.url}/v1`,
    };
    const providers = Object.fromEntries(APIS.map((api) => [`my-${api}`, { kind: KINDS[api], baseURL: baseURL[api] }]));
    const odin = await world.open({ providers, permission: { mode: 'accept-edits', timeoutMs: null } });
    for (const api of APIS) {
      for (const [n, text] of Object.entries(files)) writeFileSync(join(world.project, n), text);
      const sid = odin.newSession();
      for (let message = 0; message < TURNS / PER_MESSAGE; message++) {
        const events = await world.ask(odin, sid, {
          mode: 'edit',
          body: `Part ${message}, please.`,
          model: `my-${api}/scripted`,
        });
        expect(only(events, 'AgentDone').status).toBe('completed');
      }
      const bodies = world.server.requests.filter((request) => request.api === api).map(({ body }) => body);
      expect(bodies).toHaveLength(TURNS);
      for (const kind of ['todos: [ ] Task 1', 'cached: f', 'modified by you', 'line three']) {
        expect(bodies.at(-1)?.includes(kind)).toBe(true);
      }
      const shares = bodies.slice(1).map((body, at) => sharedShare(bodies[at] ?? '', body));
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.99);
    }
    expect(JSON.parse(world.server.requests[0]?.body ?? '')).toMatchObject({ cache_control: { type: 'ephemeral' } });
  });
});

/** How much of a prompt, without the brackets that close it, the next one begins with. */
function sharedShare(body: string, next: string): number {
  const open = body.replace(/[\]}]+$/, '');
  let shared = 0;
  while (shared < open.length && open[shared] === next[shared]) shared++;
  return shared / open.length;
}
