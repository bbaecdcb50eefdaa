// `odin sessions list|show|export`: what was asked and answered, as a table, as a transcript, as JSON lines (SPEC O5's audit trail).

import type { Odin } from '../../orchestrator/api.ts';
import { usdText } from '../../shared/amount-text.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import type { State } from '../../shared/state.ts';
import { accountsText } from '../accounts-text.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { outputGone } from '../output-gone.ts';
import { paintFor } from '../paint.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { createPlainRenderer } from '../render-plain.ts';
import { table } from '../table.ts';

export interface JsonOption {
  readonly json?: boolean;
}

export async function listSessions({ json }: JsonOption): Promise<number> {
  const place = placeHere();
  const [{ connectRedis }, { sessionCosts }] = await Promise.all([
    import('../../orchestrator/redis.ts'),
    import('../../orchestrator/watch/session-costs.ts'),
  ]);
  const sessions = await withOdin(place, null, async (odin) => {
    const { home, redisUrl } = place;
    const redis = await connectRedis({ home, notice: () => {}, ...(redisUrl === undefined ? {} : { redisUrl }) });
    try {
      const all = await odin.sessions();
      const sids = all.map(({ sid }) => sid);
      const costs = await sessionCosts({ redis: redis.client, home }, sids, odin.rates);
      return all.map((session) => ({ ...session, costUsd: costs.get(session.sid) ?? null }));
    } finally {
      await redis.close();
    }
  });
  if (json === true) {
    for (const session of sessions) process.stdout.write(jsonLine(session));
  } else if (sessions.length === 0) {
    process.stderr.write('There is no session here yet. `odin run "…"` begins one.\n');
  } else {
    const rows = sessions.map(({ sid, updatedAt, status, messages, queued, costUsd, title }) => [
      sid,
      localTime(updatedAt),
      status,
      String(messages),
      String(queued),
      costUsd === null ? '–' : usdText(costUsd),
      cleanLine(title, 60),
    ]);
    process.stdout.write(table([['SESSION', 'CHANGED', 'STATUS', 'MESSAGES', 'QUEUED', 'COST', 'TITLE'], ...rows]));
  }
  return EXIT.completed;
}

export async function showSession(session: string, { json }: JsonOption): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const state = await odin.state(await findSession(odin, session));
    if (json === true) process.stdout.write(jsonLine({ ...state, costUsd: odin.rates.costOf(state.spending) }));
    else {
      await printTranscript(odin, state);
      process.stdout.write(accountsText(state, odin.rates));
    }
    return EXIT.completed;
  });
}

/** What the session's followers saw, up to the end of its last finished message; then what runs and what waits. */
async function printTranscript(odin: Odin, state: State): Promise<void> {
  const lastDone = state.messages.findLast((message) => message.status !== 'running');
  const renderer = createPlainRenderer({
    out: process.stdout,
    err: process.stdout,
    paint: paintFor(process.stdout),
    outIsTerminal: true,
    errIsTerminal: false,
    showPrompts: true,
  });
  if (lastDone !== undefined) {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, outputGone]);
    for await (const event of odin.follow(state.sid, { from: '0', signal })) {
      if (event.id === null) continue;
      renderer.show(event);
      if (event.type === 'AgentDone' && event.seq === lastDone.seq) break;
    }
    stop.abort();
  }
  const running = state.messages.find((message) => message.status === 'running');
  const lines = [
    ...(running === undefined
      ? []
      : [
          `message ${running.seq} (${running.mode}) is not done, in phase ${state.phase.phase}: ${cleanLine(running.body, 100)}`,
        ]),
    ...state.messageQueue.map(({ seq, mode, body }) => `message ${seq} (${mode}) waits: ${cleanLine(body, 100)}`),
  ];
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

export async function exportSession(session: string): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const sid = await findSession(odin, session);
    for await (const event of odin.export(sid)) {
      if (outputGone.aborted) break;
      process.stdout.write(jsonLine(event));
    }
    return EXIT.completed;
  });
}

const localTime = (ms: number): string => new Date(ms).toLocaleString('sv-SE').slice(0, 16);
