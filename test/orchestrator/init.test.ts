// InitTool in a whole turn: the planner calls it, the lesser model writes, the user is asked, the journal can take it back.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { Odin } from '../../orchestrator/api.ts';
import type { PermissionDecision } from '../../shared/events.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { only, type World, withWorld } from '../support/odin-world.ts';

const files = {
  '.git/HEAD': '',
  'ODIN.md': 'Mine.\n',
  Makefile: 'test:\n\tgo test\n',
  'main.go': '// Package main serves.\n',
  'go.mod': 'module x\n',
};
const WORDS =
  '## What it is\nA server, says the lesser model.\n## Architecture\nOne program in `main.go`.\n## Components\n- all in the root folder, in Go\n## Commands\n- `make test`: often';

/** The planner calls InitTool once; whoever is asked without tools is the lesser model. */
const script = (turn: ScriptedTurn): ScriptedAnswer => {
  if (turn.model === 'small') return { text: WORDS };
  if (turn.stepOfMessage > 0) return { text: `Done: ${turn.lastToolResults[0]?.text ?? ''}` };
  return { toolCalls: [{ name: 'InitTool', args: { focus: 'the server' } }] };
};
const modelsOf = (world: World): readonly string[] =>
  world.server.requests.map(({ body }) => (JSON.parse(body) as { model: string }).model);

/** Runs the message, and answers the first question so. */
async function askWith(world: World, odin: Odin, sid: string, decision: PermissionDecision) {
  const stop = new AbortController();
  const events: StreamEvent[] = [];
  const stream = odin.follow(sid, { from: '$', signal: stop.signal });
  await odin.submit(sid, { mode: 'edit', body: 'make an ODIN.md' });
  for await (const event of stream) {
    events.push(event);
    if (event.type === 'PermissionAsked') await odin.answer(event.questionId, decision, { by: 'test' });
    if (event.type === 'AgentDone') stop.abort();
  }
  return events;
}

test('O22, O3, E14: the planner calls InitTool, the lesser model alone writes, the user allows the very text, undo takes it back', async () => {
  await withWorld({ script, files }, async (world) => {
    const path = join(world.project, 'ODIN.md');
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const sid = odin.newSession();
    const events = await askWith(world, odin, sid, 'allow');
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(
      /^Mine\.\n\n<!-- odin:begin[^]*A server, says the lesser model\.[^]*- Test: `make test`: often/,
    );
    const asked = only(events, 'PermissionAsked');
    expect(asked).toMatchObject({ agent: 'main', paths: [{ path, outside: false }], rule: null });
    for (const line of text.trimEnd().split('\n').slice(2)) expect(asked.detail).toContain(`+${line}`);
    expect(modelsOf(world)).toEqual(['scripted', 'small', 'scripted']);
    expect(world.server.requests[1]?.body).toContain('the server');
    expect(only(events, 'ToolResult')).toMatchObject({ tool: 'InitTool', status: 'ok', affectedFiles: [path] });
    // What InitTool has looked at is not told as if the planner had read it.
    expect(world.server.requests[2]?.body).not.toMatch(/cached: (?:main\.go|go\.mod|Makefile)/);
    expect(
      only(await world.ask(odin, sid, { mode: 'edit', body: 'undo', command: { type: 'undo', count: 1 } }), 'AgentDone')
        .status,
    ).toBe('completed');
    expect(readFileSync(path, 'utf8')).toBe('Mine.\n');
    expect(world.logged).toEqual([]);
  });
});

test('SAFETY R9: denied, or with nobody to ask, also where edits are accepted, nothing is written and the planner hears why', async () => {
  await withWorld({ script, files }, async (world) => {
    const path = join(world.project, 'ODIN.md');
    const asking = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const denied = await askWith(world, asking, asking.newSession(), 'deny');
    expect(only(denied, 'ToolResult')).toMatchObject({
      status: 'refused',
      text: expect.stringContaining('The user did not allow it'),
    });
    await asking.close();
    const accepting = await world.open({ permission: { mode: 'accept-edits', timeoutMs: null } });
    const events = await world.ask(accepting, accepting.newSession(), { mode: 'edit', body: 'make an ODIN.md' });
    expect(only(events, 'ToolResult').status).toBe('refused');
    expect(readFileSync(path, 'utf8')).toBe('Mine.\n');
  });
});

test('O10: InitTool is there in edit mode alone', async () => {
  await withWorld({ script, files }, async (world) => {
    const odin = await world.open();
    for (const mode of ['ask', 'plan'] as const) {
      const events = await world.ask(odin, odin.newSession(), { mode, body: 'make an ODIN.md' });
      expect(only(events, 'ToolResult').status).toBe('invalid');
    }
    expect(modelsOf(world)).not.toContain('small');
  });
});

test('O22: when the lesser model fails the facts are written; when ODIN.md is new, undo removes it', async () => {
  const failing = (turn: ScriptedTurn): ScriptedAnswer =>
    turn.model === 'small' ? { fault: 'http_400_context' } : script(turn);
  await withWorld({ script: failing, files }, async (world) => {
    const path = join(world.project, 'ODIN.md');
    rmSync(path);
    const odin = await world.open({ permission: { mode: 'ask', timeoutMs: null } });
    const sid = odin.newSession();
    const events = await askWith(world, odin, sid, 'allow');
    expect(only(events, 'ToolResult').text).toContain('written from the facts alone');
    expect(readFileSync(path, 'utf8')).toContain('- Test: `make test`');
    await world.ask(odin, sid, { mode: 'edit', body: 'undo', command: { type: 'undo', count: 1 } });
    expect(existsSync(path)).toBe(false);
  });
});
