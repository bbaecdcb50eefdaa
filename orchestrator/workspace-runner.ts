// What a runner of sessions has of the world around it: the tools, models, limits, hooks and files of this process.

import { grantedHosts } from '../agent/permissions-memory.ts';
import { retryDelayMs } from '../agent/retry-delay.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { ToolContext } from '../shared/define-tool.ts';
import { asAgent } from './agents/as-agent.ts';
import { withAgentFiles } from './agents/with-agent-files.ts';
import type { ModelPair } from './api.ts';
import { openScope } from './budget/ledger.ts';
import { messageLimits, sessionCaps } from './budget/settings.ts';
import { takeUpChange } from './hooks/take-up-change.ts';
import { openMarks } from './journal-marks.ts';
import { openSnapshots } from './journal-snapshot.ts';
import { createPauses } from './pauses.ts';
import type { Permissions } from './permissions.ts';
import { resumeEffect } from './resume-effect.ts';
import { createSessionRunner, type RunnerDeps, type SessionRunner } from './session-runner.ts';
import type { World } from './world.ts';

/** Runs a session's messages with what this process has; `place` is what depends on whether it owns the workspace. */
export function createWorkspaceRunner(
  world: World,
  models: ModelPair,
  permissions: Permissions,
  place: Pick<RunnerDeps, 'cancelledBy' | 'begun' | 'sure' | 'quarantine'>,
): SessionRunner {
  const { root, config, scrub, search, smallModel, log } = world;
  const scope = world.options.task?.scope ?? openScope('process', world.options.caps ?? {});
  const budgetPolicy = { scope, session: sessionCaps(config) };
  const turnDeps: RunnerDeps['turnDeps'] = (sid, mode, todos, memory, userTexts, seen) => ({
    permissions: permissions.forSession(sid),
    toolRule: (tool) => config.toolRules[tool],
    scrub,
    clean: cleanText,
    tools: (wanted) => withAgentFiles(world.toolbox.tools(sid, wanted), world.agentFiles()),
    agents: {
      threads: world.agentThreads,
      access: (model) => models.access?.(model) ?? null,
      files: () => world.agentFiles(),
      remote: () => world.remoteAgents(),
      async ended(agentSid) {
        const exec = world.commands.portFor(agentSid);
        await Promise.all(exec.list().map(({ id }) => exec.stop(id)));
        world.forget(agentSid);
      },
      forAgent: (agentSid, agentMode, agentTodos, agentSeen) => ({
        ...turnDeps(agentSid, agentMode, agentTodos, memory, userTexts, agentSeen),
        permissions: permissions.forSession(sid),
        tools: (wanted) => world.toolbox.tools(agentSid, wanted, true),
      }),
    },
    userHooks: world.hooks,
    takeUpChange: (data) => takeUpChange(world.files, data),
    provider: (model) => models.provider(model),
    models: world.models,
    budgetPolicy,
    recount: world.recount,
    maxOutputTokens: (model) => world.models.info(model).maxOutputTokens,
    contextWindow: (model) => world.models.windowOf(model),
    contextSettings: config.context,
    stepTimeoutMs: config.stepTimeoutMs,
    retryDelayMs: world.options.retryDelayMs ?? retryDelayMs,
    async pictures(model, refs) {
      if (!world.models.info(model).images) return new Map();
      const { loadImages } = await import('./images.ts');
      return loadImages(world.blobs, refs);
    },
    cachedFiles: () => world.portOf(sid, seen).list(),
    context: (call, more): ToolContext => ({
      editValidation: config.edit.validation ?? 'auto',
      root,
      mode,
      op: call.op,
      files: world.portOf(sid, seen),
      search,
      model: smallModel,
      web: world.web.portFor({
        sid,
        allowedHosts: () => (config.toolRules['WebFetch'] === 'allow' ? null : grantedHosts(memory())),
        userTexts,
      }),
      exec: world.commands.portFor(sid),
      commandRules: world.commandRules(memory()),
      todos,
      ...more,
    }),
    finishIntent: ({ intent }, _call, signal) => resumeEffect(world, sid, intent, signal),
    now: Date.now,
    log,
  });
  return createSessionRunner({
    redis: world.handle.client,
    ws: world.ws,
    root,
    cwd: world.options.cwd,
    blobs: world.blobs,
    files: world.files,
    bus: world.bus,
    models,
    marks: openMarks(world.options.home),
    snapshots: openSnapshots(world.options.home),
    onPause: createPauses(world.options.notice ?? (() => {})),
    rates: world.models,
    titles: world.options.titles === true && config.titles,
    limits: messageLimits(config),
    instructions: () => world.instructions(),
    letGo: (sid) => world.forget(sid),
    takeOutTold: (sid, queued) => world.inbox.takeOutTold(sid, queued),
    ...place,
    now: Date.now,
    turnDeps: asAgent(turnDeps, world.options.task?.agent),
  });
}
