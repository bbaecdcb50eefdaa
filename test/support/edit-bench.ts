// A files bench with the rest of a tool's context: a scripted lesser model, and calls that go through gate and execution.

import type { EditValidation, Gate, Tool, ToolContext, ToolResponse } from '../../shared/define-tool.ts';
import type { Json } from '../../shared/json.ts';
import type { Mode } from '../../shared/modes.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { type FilesBench, openFilesBench } from './files-bench.ts';
import { noCommands } from './no-commands.ts';
import { NO_WEB } from './no-web.ts';

export interface EditBench extends FilesBench {
  /** What the lesser model says next; without any it fails. */
  readonly answers: string[];
  /** What it was asked. */
  readonly asked: string[];
  /** Sets `edit.validation`; auto until then. */
  validate(when: EditValidation): void;
  gate(tool: Tool, args: Json, mode?: Mode): Promise<Gate<Json>>;
  /** Gate, and if that allows or asks, execution, with `between` in between. A denial becomes a failure. */
  call(tool: Tool, args: Json, between?: () => void): Promise<Outcome<ToolResponse>>;
}

export function openEditBench(): EditBench {
  const bench = openFilesBench();
  const answers: string[] = [];
  const asked: string[] = [];
  const none = () => {
    throw new Error('An edit searches nothing.');
  };
  let editValidation: EditValidation = 'auto';
  const context = (mode: Mode): ToolContext => ({
    editValidation,
    root: bench.root,
    mode,
    op: '1.1.1',
    files: bench.port,
    search: { grep: none, glob: none, list: none },
    web: NO_WEB,
    model: {
      async complete({ user }) {
        asked.push(user);
        const answer = answers.shift();
        return answer === undefined ? fail('failed', 'overloaded', 'No model today.') : ok(answer);
      },
    },
    signal: new AbortController().signal,
    todos: () => [],
    commandRules: () => ({ allowed: [], forbidden: [] }),
    exec: noCommands,
    report: () => undefined,
    intend: bench.intend,
  });
  const parse = (tool: Tool, args: Json) => {
    const call = tool.parse(JSON.stringify(args));
    if (!call.ok) throw new Error(call.failure.message);
    return call.value;
  };
  return {
    ...bench,
    answers,
    asked,
    validate: (when) => {
      editValidation = when;
    },
    gate: (tool, args, mode = 'edit') => parse(tool, args).gate(context(mode)),
    async call(tool, args, between) {
      const call = parse(tool, args);
      const gate = await call.gate(context('edit'));
      between?.();
      return gate.verdict === 'deny' ? fail('refused', gate.code, gate.message) : call.run(context('edit'));
    },
  };
}
