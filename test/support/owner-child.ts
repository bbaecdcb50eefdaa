// An Odin in a process of its own, for tests that stop, block or kill it. It submits what it is told to on its stdin, prints a line for
// each thing that happens, and breaks where its order says.

import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ScriptedApi } from '../../llm/scripted/script.ts';
import type { ToolMiddleware } from '../../orchestrator/middleware/tool-middleware.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import { runAlone } from '../../orchestrator/run-alone.ts';
import { ulid } from '../../shared/ids.ts';
import type { Mode } from '../../shared/modes.ts';

export interface OwnerOrder {
  readonly url: string;
  readonly project: string;
  readonly home: string;
  readonly leaseMs?: number;
  /** Another Redis than the home's own. */
  readonly redisUrl?: string;
  /** Commands that need no question. */
  readonly allow?: readonly string[];
  /** Threads of subagents that are odd; `mends`: a file that is taken away when the first one is lost. */
  readonly agentThreads?: {
    readonly url: string;
    readonly silentMs?: number;
    readonly memoryMb?: number;
    readonly mends?: string;
  };
  /** The dialect it asks the model in; absent: anthropic. */
  readonly api?: ScriptedApi;
  /** A call whose arguments contain this kills the process. */
  readonly dieOn?: string;
  /** A call whose arguments contain this blocks the event loop for so long, once. */
  readonly blockOn?: { readonly text: string; readonly forMs: number };
  /** Messages that killed processes run alone. */
  readonly alone?: boolean;
  /** This process is the one that a message runs alone in. */
  readonly isAlone?: boolean;
}

/** `sid`: a session that is there; absent: a new one. Without a body its message `seq` is followed only. */
export interface OwnerSubmit {
  readonly sid?: string;
  readonly seq?: number;
  readonly body?: string;
  readonly mode?: Mode;
  readonly mid?: string;
}

const say = (line: string): void => void process.stdout.write(`${line.replaceAll('\n', ' ')}\n`);

const order = JSON.parse(process.argv[2] ?? '') as OwnerOrder;
const providers = { other: { kind: 'openai-chat', baseURL: `${order.url}/v1` } } as const;
const provider = { anthropic: 'anthropic', responses: 'openai', chat: 'other' }[order.api ?? 'anthropic'];
const chosen = await chooseModel({
  flagModel: `${provider}/scripted`,
  flagSmallModel: `${provider}/small`,
  userConfig: { providers },
  env: {
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: order.url,
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: `${order.url}/v1`,
  },
});
if (!chosen.ok) throw new Error(chosen.failure.message);

const oddThreads = ({ url, silentMs, memoryMb }: NonNullable<OwnerOrder['agentThreads']>) => ({
  workerUrl: new URL(url),
  ...(silentMs === undefined ? {} : { silentMs }),
  ...(memoryMb === undefined ? {} : { memoryMb }),
});

let blocked = false;
const breaking: ToolMiddleware = {
  name: 'breaking',
  async around({ args }, next) {
    const text = JSON.stringify(args);
    if (order.dieOn !== undefined && text.includes(order.dieOn)) {
      // A moment later, so that the model's answer is in the journal.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20);
      await new Promise(() => {});
    }
    if (order.blockOn !== undefined && text.includes(order.blockOn.text) && !blocked) {
      blocked = true;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.blockOn.forMs);
    }
    return next();
  },
};

const options = {
  cwd: order.project,
  home: order.home,
  models: chosen.value,
  middleware: [breaking],
  permission: { mode: 'accept-edits', timeoutMs: null, allow: order.allow ?? [] } as const,
  retryDelayMs: () => 1,
  notice: (line: string) => say(`notice ${line}`),
  log(message: string, detail: object) {
    if (message === 'the thread of an agent was lost' && order.agentThreads?.mends !== undefined) {
      rmSync(order.agentThreads.mends, { force: true });
    }
    say(`log ${message} ${JSON.stringify(detail)}`);
  },
  ...(order.leaseMs === undefined ? {} : { leaseMs: order.leaseMs }),
  ...(order.agentThreads === undefined ? {} : { agentThreads: oddThreads(order.agentThreads) }),
  ...(order.redisUrl === undefined ? {} : { redisUrl: order.redisUrl }),
  ...(order.alone === true
    ? { alone: [process.execPath, import.meta.filename, JSON.stringify({ ...order, isAlone: true })] }
    : {}),
};

if (order.isAlone === true) {
  process.exitCode = await runAlone(process.stdin, async () => options);
} else {
  const odin = await openOdin(options);
  say(`open ${odin.owner}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const { sid = odin.newSession(), body, mode = 'edit', mid = ulid(), seq: of = 1 } = JSON.parse(line) as OwnerSubmit;
    const { seq } = body === undefined ? { seq: of } : await odin.submit(sid, { body, mode, mid });
    say(`submitted ${sid} ${seq}`);
    void (async () => {
      for await (const event of odin.follow(sid, { from: '0', signal: new AbortController().signal })) {
        if (event.type === 'AgentDone' && event.seq === seq) say(`done ${sid} ${event.status} ${event.answer}`);
        else if (event.type === 'ToolCallStart' || event.type === 'AgentError')
          say(`${event.type} ${JSON.stringify(event)}`);
      }
    })().catch(() => {});
  }
  await odin.close();
}
