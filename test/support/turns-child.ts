// An Odin in a process of its own for the crash scripts: owns its project's sessions, or waits to, until its stdin ends. Where it is
// killed is told by ODIN_KILL_POINTS.

import { flushCompileCache } from 'node:module';
import { chooseModel } from '../../llm/choose-model.ts';
import { openOdin } from '../../orchestrator/odin.ts';

export interface TurnsOrder {
  readonly url: string;
  readonly project: string;
  readonly home: string;
  readonly redisUrl?: string;
  readonly leaseMs?: number;
  /** Questions wait for an answer from another process; else they are answered as `accept-edits` does. */
  readonly asks?: boolean;
  /** Before the model is asked again. */
  readonly retryMs?: number;
}

const COMPILED_MS = 1_000;

const {
  url,
  project,
  home,
  redisUrl,
  leaseMs,
  asks = false,
  retryMs = 20,
} = JSON.parse(process.argv[2] ?? '') as TurnsOrder;
const chosen = await chooseModel({
  flagModel: 'anthropic/scripted',
  flagSmallModel: 'anthropic/small',
  env: { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: url },
});
if (!chosen.ok) throw new Error(chosen.failure.message);
const odin = await openOdin({
  cwd: project,
  home,
  models: chosen.value,
  ...(redisUrl === undefined ? {} : { redisUrl }),
  ...(leaseMs === undefined ? {} : { leaseMs }),
  permission: { mode: asks ? 'ask' : 'accept-edits', timeoutMs: null, allow: ['echo *', 'sleep *'] },
  retryDelayMs: () => retryMs,
  log: (message, detail) => {
    if (process.env['ODIN_CHILD_LOG']) process.stderr.write(`${process.pid} ${message} ${JSON.stringify(detail)}\n`);
  },
});
process.stdout.write(`open ${odin.owner}\n`);
// Who is killed leaves no compiled code to the next; half a message later there is enough of it, and only the first has anything to write.
setTimeout(flushCompileCache, COMPILED_MS).unref();
process.stdin.resume();
process.stdin.once('end', () => void odin.close().then(() => process.exit(0)));
