// WebFetch in whole turns: real Redis, journal, threads and a real site; both models are scripted.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Script, ScriptedAnswer } from '../../../llm/scripted/script.ts';
import type { Odin, PermissionPolicy } from '../../../orchestrator/api.ts';
import type { PermissionDecision } from '../../../shared/events.ts';
import type { Mode } from '../../../shared/modes.ts';
import type { StreamEvent } from '../../../shared/stream-events.ts';
import { type World, withWorld } from '../../support/odin-world.ts';
import { html, openWebSite, siteRules, type WebSite } from '../../support/web-site.ts';

const ASK: PermissionPolicy = { mode: 'ask', timeoutMs: null };

interface Bench {
  readonly world: World;
  readonly site: WebSite;
  /** How often each model was asked. */
  readonly asked: Record<string, number>;
  open(permission?: PermissionPolicy): Promise<Odin>;
  /** Runs a message that makes these calls, one a step. The answer holds the results. With null, nobody answers what is asked. */
  say(odin: Odin, sid: string, calls: readonly Call[], decision: PermissionDecision | null, mode?: Mode): Promise<Said>;
}

type Call = { readonly url: string; readonly prompt?: string };
type Said = { readonly questions: readonly StreamEvent[]; readonly answer: string };

async function withSite(
  use: (bench: Bench) => Promise<void>,
  files: Readonly<Record<string, string>> = {},
): Promise<void> {
  const site = await openWebSite({
    '/a': html('<main><h1>Page A</h1><p>Alpha is 1. <a href="/b">More</a></p></main>'),
    '/b': html('<main><h1>Page B</h1><p>Beta is 2.</p></main>'),
  });
  const asked: Record<string, number> = {};
  let calls: readonly Call[] = [];
  const script: Script = (turn): ScriptedAnswer => {
    asked[turn.model] = (asked[turn.model] ?? 0) + 1;
    if (turn.model === 'small') return { text: `Small answer to: ${turn.userText.split('The question: ').at(-1)}` };
    const next = calls[turn.stepOfMessage];
    if (next) return { toolCalls: [{ name: 'WebFetch', args: { ...next } }] };
    return { text: turn.messagesText };
  };
  const say: Bench['say'] = async (odin, sid, given, decision, mode = 'ask') => {
    calls = given;
    const stop = new AbortController();
    const questions: StreamEvent[] = [];
    let answer = '';
    const stream = odin.follow(sid, { from: '$', signal: stop.signal });
    const { seq } = await odin.submit(sid, { mode, body: 'read the web' });
    for await (const event of stream) {
      if (event.seq !== seq) continue;
      if (event.type === 'PermissionAsked') {
        questions.push(event);
        if (decision === null) continue;
        // There is no rule for hosts that could be kept.
        await expect(odin.answer(event.questionId, 'allow_always', { by: 'test' })).rejects.toThrow('narrow enough');
        await odin.answer(event.questionId, decision, { by: 'test' });
      }
      if (event.type === 'AgentDone') {
        answer = event.answer;
        stop.abort();
      }
    }
    return { questions, answer };
  };
  try {
    await withWorld({ script, files }, (world) =>
      use({ world, site, asked, say, open: (permission = ASK) => world.open({ permission, webRules: siteRules() }) }),
    );
  } finally {
    await site.close();
  }
}

test('O20, O3, O24: the first page of a host is asked about, the next one in the session is not; the lesser model answers, the planner is asked once a step', async () => {
  await withSite(async ({ site, asked, open, say }) => {
    const odin = await open();
    const sid = odin.newSession();
    const calls = [
      { url: site.url('/a'), prompt: 'What is alpha?' },
      { url: site.url('/b'), prompt: 'What is beta?' },
    ];
    const { questions, answer } = await say(odin, sid, calls, 'allow_session');
    expect(questions).toMatchObject([
      {
        title: 'Read a page of site.test?',
        detail: site.url('/a'),
        host: 'site.test',
        rule: null,
        paths: [],
        agent: 'main',
      },
    ]);
    expect(answer).toContain('Small answer to: What is alpha?');
    expect(answer).toContain('Small answer to: What is beta?');
    expect(site.hits).toEqual(['site.test/a', 'site.test/b']);
    // Two steps that call, one that answers.
    expect(asked).toEqual({ scripted: 3, small: 2 });
  });
});

test('O20, O24: what was allowed for the session holds in its next messages and after a restart, for that host and that session alone', async () => {
  await withSite(async ({ site, asked, open, say }) => {
    const first = await open();
    const sid = first.newSession();
    await say(first, sid, [{ url: site.url('/a') }], 'allow_session');
    await first.close();
    const odin = await open();
    expect((await say(odin, sid, [{ url: site.url('/b') }], 'deny', 'edit')).questions).toEqual([]);
    expect((await say(odin, sid, [{ url: site.url('/b', 'www.site.test') }], 'deny', 'plan')).questions).toEqual([]);
    const other = await say(odin, sid, [{ url: site.url('/a', 'other.test') }], 'deny');
    expect(other.questions).toMatchObject([{ host: 'other.test' }]);
    expect(other.answer).toContain('The user did not allow it');
    expect((await say(odin, odin.newSession(), [{ url: site.url('/a') }], 'deny')).questions).toHaveLength(1);
    expect(site.hits.filter((hit) => hit.startsWith('other'))).toEqual([]);
    // Without a prompt nobody needs the lesser model.
    expect(asked['small']).toBeUndefined();
  });
});

test('O20, O24: an answer for once holds once, always is not offered; with nobody to ask nothing is fetched', async () => {
  await withSite(async ({ site, open, say }) => {
    const odin = await open();
    const sid = odin.newSession();
    const { questions } = await say(odin, sid, [{ url: site.url('/a') }, { url: site.url('/b') }], 'allow');
    expect(questions).toHaveLength(2);
    await odin.close();
    const alone = await open({ mode: 'deny', timeoutMs: null });
    const before = site.hits.length;
    const { answer } = await say(alone, alone.newSession(), [{ url: site.url('/a') }], null);
    expect(answer).toContain('Nobody is here to allow it');
    expect(site.hits.length).toBe(before);
  });
});

test("O20, O24: the user's settings may allow all hosts, ask each time, or deny; a project's that is not trusted cannot allow", async () => {
  await withSite(
    async ({ site, world, open, say }) => {
      const settings = (rule: string) =>
        writeFileSync(join(world.home, 'config.json'), JSON.stringify({ permissions: { WebFetch: rule } }));
      const go = async () => {
        const odin = await open();
        const said = await say(
          odin,
          odin.newSession(),
          [{ url: site.url('/a') }, { url: site.url('/b') }],
          'allow_session',
        );
        await odin.close();
        return { asked: said.questions.length, answer: said.answer };
      };
      // The project's own file says allow.
      expect((await go()).asked).toBe(1);
      settings('allow');
      expect((await go()).asked).toBe(0);
      settings('ask');
      expect((await go()).asked).toBe(2);
      settings('deny');
      expect(await go()).toMatchObject({
        asked: 0,
        answer: expect.stringContaining('The settings deny WebFetch here'),
      });
    },
    { 'odinconfig.json': JSON.stringify({ permissions: { WebFetch: 'allow' } }) },
  );
});
