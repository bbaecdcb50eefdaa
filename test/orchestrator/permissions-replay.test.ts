// What a call does with answers that are in the journal already, as after a crash between the answer and the effect.

import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { foldPermissions, NO_PERMISSIONS } from '../../agent/permissions-memory.ts';
import { NO_HOOKS } from '../../orchestrator/hooks/run-hooks.ts';
import { createPermissions } from '../../orchestrator/permissions.ts';
import { startToolCall, type ToolCallDeps } from '../../orchestrator/tool-call.ts';
import { defineTool, type ToolContext } from '../../shared/define-tool.ts';
import type { JournalEvent, PermissionDecision } from '../../shared/events.ts';
import { sha256 } from '../../shared/ids.ts';
import { ok } from '../../shared/outcome.ts';

const ran: string[] = [];
const tool = defineTool({
  name: 'Say',
  version: '1',
  description: 'Says a word.',
  schema: z.strictObject({ word: z.string() }),
  effect: 'run',
  preHook: async ({ word }) => ({ verdict: 'ask', title: `Say ${word}?`, reasons: ['it speaks'], detail: word }),
  execute: async ({ word }) => {
    ran.push(word);
    return ok({ text: word, description: word });
  },
});

/** Runs the call of op 1.1.1 on top of a journal; questions are answered with `answer`. */
async function call(word: string, past: readonly JournalEvent[], answer: PermissionDecision) {
  const events: JournalEvent[] = [];
  const memory = { permissions: past.reduce(foldPermissions, NO_PERMISSIONS) };
  const permissions = createPermissions({
    policy: { mode: 'ask', timeoutMs: null },
    early: () => ({ decision: answer, by: 'test' }),
    watch: () => {},
    storeRule: () => Promise.resolve(),
  });
  const deps: ToolCallDeps = {
    sid: 'S',
    root: '/project',
    permissions: permissions.forSession('S'),
    memory,
    toolRule: () => undefined,
    live: { publish: () => {} },
    hooks: NO_HOOKS,
    takeUpChange: () => Promise.resolve(null),
    scrub: (text) => text,
    clean: (text) => text,
    record(event) {
      events.push(event);
      memory.permissions = foldPermissions(memory.permissions, event);
    },
    flushed: () => Promise.resolve(),
    // The tool of this test reaches for nothing.
    context: (_call, more) => more as ToolContext,
    now: () => 7,
    log: () => {},
  };
  const rawArgs = JSON.stringify({ word });
  const summary = { op: '1.1.1', callId: 'c', name: 'Say', argsHash: sha256(rawArgs) } as const;
  await startToolCall(deps, summary, rawArgs, tool, () => Promise.resolve()).settled;
  return { events, types: events.map(({ type }) => type), done: events.at(-1) };
}

test('DURABILITY 8: an answer in the journal is used and not asked for again; it binds to the arguments it was given for', async () => {
  const first = await call('hello', [], 'allow');
  expect(first.types).toEqual(['tool.start', 'perm.ask', 'perm.answer', 'tool.done']);
  const past = first.events.slice(0, 3);
  const again = await call('hello', past, 'deny');
  expect(again.types).toEqual(['tool.start', 'tool.done']);
  expect(again.done).toMatchObject({ kind: 'ok' });
  const changed = await call('goodbye', past, 'deny');
  expect(changed.types).toEqual(['tool.start', 'perm.ask', 'perm.answer', 'tool.done']);
  expect(changed.done).toMatchObject({ kind: 'refused' });
  expect(ran).toEqual(['hello', 'hello']);
});

test('SAFETY 6: a yes to a worker’s question that took the name of this call’s is not for this call, also after a crash', async () => {
  const told = ran.length;
  const own = (await call('secret', [], 'deny')).events.find((event) => event.type === 'perm.ask');
  if (own?.type !== 'perm.ask') throw new Error('Nothing was asked.');
  const { id, argsHash } = own.question;
  const taken = {
    ...own,
    op: '1.1.9',
    question: { ...own.question, argsHash: `worker ${argsHash}`, relayed: true },
  } as const;
  const past: JournalEvent[] = [
    taken,
    { type: 'perm.answer', op: '1.1.9', questionId: id, decision: 'allow', by: 'person', at: 7 },
  ];
  const { types, done, events } = await call('secret', past, 'deny');
  expect(types).toEqual(['tool.start', 'perm.ask', 'perm.answer', 'tool.done']);
  expect(done).toMatchObject({ kind: 'refused' });
  const again = await call('secret', [...past, ...events.slice(0, 3)], 'allow');
  expect(again.types).toEqual(['tool.start', 'tool.done']);
  expect(again.done).toMatchObject({ kind: 'refused' });
  expect(ran).toHaveLength(told);
});

test('DURABILITY 8: a question without an answer is asked again with the same id; a no in the journal stays one', async () => {
  const asked = (await call('hello', [], 'allow')).events.slice(0, 2);
  const resumed = await call('hello', asked, 'deny');
  expect(resumed.events[1]).toEqual(asked[1]);
  ran.length = 0;
  const denied = await call('hello', [...asked, ...resumed.events.slice(2, 3)], 'allow');
  expect(denied.types).toEqual(['tool.start', 'tool.done']);
  expect(denied.done).toMatchObject({ kind: 'refused' });
  expect(ran).toEqual([]);
});
