// Phases in whole turns: in the stream, in State, and the same when the journal is read again.

import { expect, test } from '@jest/globals';
import type { ScriptedCall, ScriptedTurn } from '../../llm/scripted/script.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { withWorld } from '../support/odin-world.ts';

const steps: readonly (readonly ScriptedCall[])[] = [
  [
    { name: 'LS', args: { path: '.' } },
    { name: 'TodoWrite', args: { todos: [{ id: '1', content: 'do', status: 'pending' }] } },
  ],
  [{ name: 'WriteFile', args: { file_path: 'a.txt', content: 'a\n' } }],
  [{ name: 'ExecuteCommand', args: { command: 'make -n test' } }],
];
const script = ({ stepOfMessage, userText }: ScriptedTurn) => {
  const toolCalls = userText.startsWith('work') ? steps[stepOfMessage] : undefined;
  return toolCalls ? { toolCalls } : { text: 'Done.' };
};

const phasesOf = (events: readonly StreamEvent[]) =>
  events.flatMap((event) => (event.type === 'PhaseChanged' ? [event.phase] : []));

test('E6: each change of phase is told once, State has the last, and the next message begins anew', async () => {
  await withWorld({ script }, async (world) => {
    const odin = await world.open();
    const sid = odin.newSession();
    const events = await world.ask(odin, sid, { mode: 'edit', body: 'work' });
    const phases = ['discover_and_plan', 'edit', 'validate'];
    expect(phasesOf(events)).toEqual(phases);
    expect((await odin.state(sid)).phase).toEqual({ phase: 'validate', signs: ['look', 'plan', 'edit', 'validate'] });
    expect(phasesOf(await world.ask(odin, sid, { mode: 'ask', body: 'thanks' }))).toEqual([]);
    expect((await odin.state(sid)).phase.phase).toBe('explore');
    const again: StreamEvent[] = [];
    const stop = new AbortController();
    for await (const event of odin.follow(sid, { from: '0', signal: stop.signal })) {
      again.push(event);
      if (event.type === 'AgentDone' && event.seq === 2) stop.abort();
    }
    expect(phasesOf(again)).toEqual(phases);
    // The phase is told before the calls that it is told by.
    const at = again.findIndex((event) => event.type === 'PhaseChanged');
    expect(again.slice(at + 1).find((event) => event.id !== null)).toMatchObject({ type: 'ToolCallStart', tool: 'LS' });
  });
});
