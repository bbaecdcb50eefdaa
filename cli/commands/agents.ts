// `odin agents`: the subagents of a session (SPEC O19, O25): who is at work and what the ended ones gave, one of them closely, a word to one,
// the end of one. All of it from any terminal.

import type { Odin } from '../../orchestrator/api.ts';
import { cleanLine, cleanText } from '../../shared/clean-text.ts';
import type { Journaled } from '../../shared/events.ts';
import { UserError } from '../../shared/outcome.ts';
import type { State } from '../../shared/state.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { createStreamView } from '../../shared/stream-view.ts';
import { describeCall } from '../describe-call.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

export interface AgentsOptions {
  readonly session?: string;
  readonly json?: boolean;
}

export async function listAgents({ session = 'last', json }: AgentsOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const state = await odin.state(await findSession(odin, session));
    if (json === true) {
      for (const { request: _, ...agent } of state.subAgents)
        process.stdout.write(jsonLine({ session: state.sid, ...agent }));
      for (const agent of state.agentResults) process.stdout.write(jsonLine({ session: state.sid, ...agent }));
    } else if (state.subAgents.length + state.agentResults.length === 0) {
      process.stderr.write(`Session ${state.sid} has no subagents.\n`);
    } else {
      process.stdout.write(
        table([['AGENT', 'STATUS', 'STEPS', 'MODE', 'TIME', 'TITLE', 'DOING'], ...rowsOf(state, Date.now())]),
      );
    }
    return EXIT.completed;
  });
}

function rowsOf({ subAgents, agentResults }: State, now: number): readonly (readonly string[])[] {
  const working = subAgents.map(({ id, status, steps, mode, startedAt, title, doing, todos, worker }) => {
    const open = todos.filter((todo) => todo.status !== 'completed').length;
    const where = worker === undefined ? '' : ` (with worker ${worker})`;
    const what = `${open === 0 ? doing : `${doing}, ${open} of ${todos.length} todos open`}${where}`;
    return [
      id,
      status,
      String(steps),
      mode,
      `${Math.round((now - startedAt) / 1000)} s`,
      cleanLine(title, 40),
      cleanLine(what, 60),
    ];
  });
  const ended = agentResults.map(({ id, end, limit, steps, title }) => [
    ...[id, limit === null ? end : `${end} (${limit})`, String(steps), '', '', cleanLine(title, 40), ''],
  ]);
  return [...working, ...ended];
}

/** What one agent was asked, what it did and what it gave. */
export async function showAgent(id: string, { session = 'last', json }: AgentsOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    const events = (await eventsOf(odin, sid)).filter(({ agent }) => agent === id);
    if (events.length === 0)
      throw new UserError(`session ${sid} has no agent "${cleanLine(id, 40)}". \`odin agents\` lists them.`);
    for (const event of events) {
      if (json === true) process.stdout.write(jsonLine(event));
      else for (const line of linesOf(event)) process.stdout.write(`${line}\n`);
    }
    return EXIT.completed;
  });
}

/** The session's events up to now, from its journal. */
async function eventsOf(odin: Odin, sid: string): Promise<readonly StreamEvent[]> {
  const view = createStreamView(sid, odin.rates);
  const events: StreamEvent[] = [];
  for await (const entry of odin.export(sid)) {
    const { id, event } = entry as unknown as Journaled;
    events.push(...view.journaled(id, event));
  }
  return events;
}

function linesOf(event: StreamEvent): readonly string[] {
  switch (event.type) {
    case 'AgentSpawned':
      return [
        `${event.agent}: ${cleanLine(event.title)} (${event.mode} mode, ${cleanLine(event.model)})`,
        cleanText(event.prompt),
        '',
      ];
    case 'AgentPlaced':
      return [
        event.worker === null ? `works here: ${cleanLine(event.why)}` : `is with worker ${cleanLine(event.worker)}`,
      ];
    case 'StepText':
      return [cleanText(event.text)];
    case 'ToolCallStart':
      return [`● ${describeCall(event.tool, event.args)}`];
    case 'ToolResult':
      return [`  → ${event.status === 'ok' ? '' : `${event.status}: `}${cleanLine(event.description, 160)}`];
    case 'UserWord':
      return [`${cleanLine(event.by)}> ${cleanText(event.text)}`];
    case 'AgentEnded':
      return [
        '',
        `${event.end}${event.limit === null ? '' : ` (${event.limit})`} after ${event.steps} steps`,
        cleanText(event.answer),
      ];
    default:
      return [];
  }
}

export async function sendToAgent(
  id: string,
  words: readonly string[],
  { session = 'last' }: AgentsOptions,
): Promise<number> {
  const text = words.join(' ').trim();
  if (text === '') throw new UserError('say what the agent is to be told: odin agents send ID "…"');
  return await withOdin(placeHere(), null, async (odin) => {
    await odin.agent(await findSession(odin, session), id, { type: 'say', text, by: 'odin agents send' });
    process.stdout.write(`agent ${cleanLine(id)} is told with its next step\n`);
    return EXIT.completed;
  });
}

export async function cancelAgent(id: string, { session = 'last' }: AgentsOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    await odin.agent(await findSession(odin, session), id, { type: 'cancel', by: 'odin agents cancel' });
    process.stdout.write(`agent ${cleanLine(id)} is asked to stop; its message goes on\n`);
    return EXIT.completed;
  });
}
