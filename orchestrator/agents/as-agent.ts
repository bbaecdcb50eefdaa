// The messages of a session that is a subagent of another Odin's (SPEC O19): told to be one, with its own part of the tools, starting none.

import type { TaskPlace } from '../api.ts';
import type { RunnerDeps } from '../session-runner.ts';

export const asAgent = (turnDeps: RunnerDeps['turnDeps'], agent: TaskPlace['agent']): RunnerDeps['turnDeps'] =>
  agent === undefined
    ? turnDeps
    : (...args) => {
        const { agents: _, tools, ...deps } = turnDeps(...args);
        const own = new Set(agent.tools);
        const { role, permissions = deps.permissions, leave } = agent;
        return {
          ...deps,
          ...{ role, permissions, tools: (mode) => tools(mode).filter(({ name }) => own.has(name)) },
          ...(leave === undefined ? {} : { leave }),
        };
      };
