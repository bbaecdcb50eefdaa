// All tools by name, and which of them a mode has (SPEC O9, O10). A new tool is one line here. The order is the order in the
// prompt: it never changes inside a session, and what only edit mode has comes last, so that the modes share a prefix.

import type { Tool } from '../shared/define-tool.ts';
import type { Mode } from '../shared/modes.ts';
import { agentTool } from './agent-tool.ts';
import { commandOutputTool } from './command-output.ts';
import { contextSummarizerTool } from './context-summarizer.ts';
import { editTool } from './edit-tool.ts';
import { executeCommandTool } from './execute-command.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import { initTool } from './init-tool.ts';
import { lsTool } from './ls.ts';
import { multiEditTool } from './multi-edit-tool.ts';
import { readFileTool } from './read-file.ts';
import { todoWriteTool } from './todo-write.ts';
import { webFetchTool } from './web-fetch.ts';
import { writeFileTool } from './write-file.ts';

interface Row {
  readonly tool: Tool;
  readonly modes: 'all' | 'edit';
  readonly subAgents: boolean;
}

const everywhere = (tool: Tool): Row => ({ tool, modes: 'all', subAgents: true });
const editing = (tool: Tool): Row => ({ tool, modes: 'edit', subAgents: true });

const ROWS: readonly Row[] = [
  everywhere(lsTool),
  everywhere(grepTool),
  everywhere(globTool),
  everywhere(readFileTool),
  everywhere(webFetchTool),
  everywhere(todoWriteTool),
  everywhere(executeCommandTool),
  everywhere(commandOutputTool),
  everywhere(contextSummarizerTool),
  { tool: agentTool, modes: 'all', subAgents: false },
  editing(writeFileTool),
  editing(editTool),
  editing(multiEditTool),
  editing(initTool),
];

/** Every tool there is, by name. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(ROWS.map(({ tool }) => [tool.name, tool]));

/** The tools of a mode, for the main agent or a subagent, always in the same order. */
export function getModeTools(mode: Mode, isSubAgent: boolean): readonly Tool[] {
  return ROWS.filter((row) => (row.modes === 'all' || mode === 'edit') && (row.subAgents || !isSubAgent)).map(
    ({ tool }) => tool,
  );
}
