import { expect, test } from '@jest/globals';
import { toolSpec } from '../../shared/define-tool.ts';
import { MODES } from '../../shared/modes.ts';
import { getModeTools, TOOLS } from '../../tools/registry.ts';

const names = (mode: (typeof MODES)[number], isSubAgent = false) =>
  getModeTools(mode, isSubAgent).map((tool) => tool.name);
const EVERYWHERE = ['LS', 'Grep', 'Glob', 'ReadFile', 'TodoWrite', 'ExecuteCommand', 'CommandOutput'];

test('O10: every mode has the tools that read and the commands, for agents and subagents', () => {
  for (const mode of MODES) {
    for (const isSubAgent of [false, true]) expect(names(mode, isSubAgent)).toEqual(expect.arrayContaining(EVERYWHERE));
  }
});

test('O1, O10: ask and plan mode have the same tools, none of which writes', () => {
  expect(names('plan')).toEqual(names('ask'));
  for (const mode of ['ask', 'plan'] as const) {
    expect(getModeTools(mode, false).filter((tool) => tool.effect === 'write')).toEqual([]);
  }
});

test('O10: the order is the same each time, and edit mode begins with what the other modes have', () => {
  for (const mode of MODES) expect(names(mode)).toEqual(names(mode));
  expect(names('edit').slice(0, names('ask').length)).toEqual(names('ask'));
});

test('O1, O10: edit mode alone has the tools that write', () => {
  const writing = getModeTools('edit', false).filter((tool) => tool.effect === 'write');
  expect(writing.map((tool) => tool.name)).toEqual(expect.arrayContaining(['WriteFile', 'EditTool', 'MultiEditTool']));
});

test('O9: the registry finds each tool by its own name', () => {
  for (const [name, tool] of TOOLS) expect(tool.name).toBe(name);
  expect(new Set(MODES.flatMap((mode) => names(mode)))).toEqual(new Set(TOOLS.keys()));
});

test('O13: what the model is sent of such a tool is short', () => {
  for (const name of EVERYWHERE) {
    const tool = TOOLS.get(name);
    const bytes = tool ? Buffer.byteLength(JSON.stringify(toolSpec(tool))) : Number.NaN;
    expect({ name, bytes, fits: bytes <= (name === 'Grep' ? 1_500 : 900) }).toMatchObject({ fits: true });
  }
});
