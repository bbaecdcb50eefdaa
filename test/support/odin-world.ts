// A whole Odin for tests: a scripted model server, a project folder, a private home with its own Redis, all real.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chooseModel } from '../../llm/choose-model.ts';
import type { ProviderConfig } from '../../llm/known-providers.ts';
import type { Script } from '../../llm/scripted/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../llm/scripted/server.ts';
import type { Odin, OpenOptions, PermissionPolicy, SubmitOptions } from '../../orchestrator/api.ts';
import { openOdin } from '../../orchestrator/odin.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';

export interface World {
  readonly server: ScriptedServer;
  readonly project: string;
  readonly home: string;
  readonly logged: readonly string[];
  /** Lines that the user would have been told. */
  readonly noticed: readonly string[];
  /** Opens one more Odin in this process. Closed with the world at the latest. */
  open(options?: {
    readonly models?: boolean;
    readonly permission?: PermissionPolicy;
    readonly onQuestion?: OpenOptions['onQuestion'];
    /** Another Redis than the home's own. */
    readonly redisUrl?: string;
    readonly webRules?: OpenOptions['webRules'];
    readonly hooks?: OpenOptions['hooks'];
    readonly middleware?: OpenOptions['middleware'];
    readonly caps?: OpenOptions['caps'];
    readonly agentThreads?: OpenOptions['agentThreads'];
    /** Short waits between two tries of the model. */
    readonly retryDelayMs?: OpenOptions['retryDelayMs'];
    /** Model servers besides anthropic, which is the scripted one. */
    readonly providers?: Readonly<Record<string, ProviderConfig>>;
  }): Promise<Odin>;
  /** Submits and collects the events of that message up to its AgentDone. */
  ask(odin: Odin, sid: string, submit: SubmitOptions): Promise<readonly StreamEvent[]>;
}

const BUSY = /^the event loop was blocked|^the queue reports .*(?:Missing lock|Lock mismatch|could not renew lock)/;

export async function withWorld<T>(
  options: {
    readonly script: Script;
    readonly files?: Readonly<Record<string, string>>;
    /** The user's config.json. */
    readonly userConfig?: object;
  },
  use: (world: World) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'odin-world-'));
  const project = join(folder, 'project');
  for (const [name, text] of Object.entries({ 'ODIN.md': '# Test project\n', ...options.files })) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  const home = join(folder, 'home');
  if (options.userConfig) {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, 'config.json'), JSON.stringify(options.userConfig));
  }
  const server = await startScriptedServer({ script: options.script });
  const opened: Odin[] = [];
  const logged: string[] = [];
  const noticed: string[] = [];
  const world: World = {
    server,
    project,
    home,
    logged,
    noticed,
    async open({
      models = true,
      permission,
      onQuestion,
      redisUrl,
      webRules,
      hooks,
      middleware,
      caps,
      agentThreads,
      retryDelayMs,
      providers = {},
    } = {}) {
      const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url };
      const flags = { flagModel: 'anthropic/scripted', flagSmallModel: 'anthropic/small' };
      const chosen = await chooseModel({ ...flags, userConfig: { providers }, env });
      if (!chosen.ok) throw new Error(chosen.failure.message);
      const odin = await openOdin({
        cwd: project,
        home: world.home,
        ...(models ? { models: chosen.value } : {}),
        ...(permission ? { permission } : {}),
        ...(onQuestion ? { onQuestion } : {}),
        ...(redisUrl ? { redisUrl } : {}),
        ...(webRules ? { webRules } : {}),
        ...(hooks ? { hooks } : {}),
        ...(middleware ? { middleware } : {}),
        ...(caps ? { caps } : {}),
        ...(agentThreads ? { agentThreads } : {}),
        ...(retryDelayMs ? { retryDelayMs } : {}),
        notice: (line) => noticed.push(line),
        // That the machine was busy is true and no fault.
        log(message, detail) {
          const line = `${message} ${JSON.stringify(detail)}`;
          if (!BUSY.test(line)) logged.push(line);
        },
      });
      opened.push(odin);
      return odin;
    },
    async ask(odin, sid, submit) {
      const stop = new AbortController();
      const events: StreamEvent[] = [];
      const stream = odin.follow(sid, { from: '$', signal: stop.signal });
      const { seq } = await odin.submit(sid, submit);
      for await (const event of stream) {
        if (event.seq !== seq) continue;
        events.push(event);
        if (event.type === 'AgentDone') stop.abort();
      }
      return events;
    },
  };
  try {
    return await use(world);
  } finally {
    await Promise.all(opened.map((odin) => odin.close()));
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The one event of its type. */
export function only<T extends StreamEvent['type']>(
  events: readonly StreamEvent[],
  type: T,
): Extract<StreamEvent, { type: T }> {
  const found = events.filter((event) => event.type === type);
  if (found.length !== 1) throw new Error(`${found.length} events of type ${type}`);
  return found[0] as Extract<StreamEvent, { type: T }>;
}
