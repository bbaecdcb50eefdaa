// The hooks and tools of the settings: what is a mistake, what is put together from both files, what waits for trust.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type Config, loadConfig, parseConfig } from '../../../orchestrator/config.ts';
import { toolMatcher } from '../../../orchestrator/hooks/tool-matcher.ts';
import { acceptFolder } from '../../../orchestrator/trust.ts';

const problem = async (settings: object): Promise<string> => {
  const parsed = await parseConfig(JSON.stringify(settings), 'odinconfig.json', 'project');
  return parsed.ok ? 'accepted' : parsed.failure.message;
};
const command = 'true';

test.each([
  [{ hooks: { toolCal: [{ command }] } }, /unknown key "toolCal" in "hooks"\. Did you mean "toolCall"\?$/],
  [
    { hooks: { toolCall: [{ comand: command }] } },
    /unknown key "comand" in "hooks\.toolCall\.0"\. Did you mean "command"\?/,
  ],
  [{ hooks: { toolCall: [{ command: ' ' }] } }, /"hooks\.toolCall\.0\.command"/],
  [
    { hooks: { toolCall: [{ command, match: 'WritFile|LS' }] } },
    /no tool is called "WritFile"\. Did you mean "WriteFile"\?/,
  ],
  [{ hooks: { toolCall: [{ command, match: 'X*' }] } }, /no tool is called "X\*"\. The tools are: ReadFile, /],
  [{ hooks: { done: [{ command, match: 'LS' }] } }, /unknown key "match" in "hooks\.done\.0"/],
  [{ hooks: { done: [{ command, timeoutMs: 0 }] } }, /"hooks\.done\.0\.timeoutMs"/],
  [{ hooks: { streamDelta: [{ command }] } }, /a command cannot watch "streamDelta": .*afterLLM/],
  [{ tools: { WebFetsh: {} } }, /unknown key "WebFetsh" in "tools"\. Did you mean "WebFetch"\?/],
  [{ tools: { WriteFile: { cacheMs: 5 } } }, /unknown key "cacheMs" in "tools\.WriteFile"/],
  [{ tools: { LS: { rateLimit: { calls: 3 } } } }, /"tools\.LS\.rateLimit\.perSeconds"/],
  [{ hooks: { toolCall: [{ command, match: 'Execute*| LS' }] }, tools: { LS: { cacheMs: 5 } } }, /^accepted$/],
])('E5 E17: settings %j are answered with what to do', async (settings, message) => {
  expect(await problem(settings)).toMatch(message);
});

test('E5: match means names, and * any characters, of nothing but the whole name', () => {
  const matches = (match: string) => ['WriteFile', 'ReadFile', 'LS'].filter(toolMatcher(match));
  expect(matches('Write*|LS')).toEqual(['WriteFile', 'LS']);
  expect(matches('*File')).toEqual(['WriteFile', 'ReadFile']);
  expect(matches('File')).toEqual([]);
  expect(matches('*')).toEqual(['WriteFile', 'ReadFile', 'LS']);
});

test("SAFETY 2.3 E17: the user's hooks come first, the project's once it is trusted; both rate limits hold", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-hook-config-')));
  const home = join(folder, 'home');
  mkdirSync(home);
  try {
    const own = {
      hooks: { toolCall: [{ command: 'a' }] },
      tools: { LS: { rateLimit: { calls: 1, perSeconds: 1 }, cacheMs: 1 } },
    };
    const theirs = {
      hooks: { toolCall: [{ command: 'b', name: 'b' }], done: [{ command: 'c' }] },
      tools: { LS: { rateLimit: { calls: 2, perSeconds: 2 }, cacheMs: 2 } },
    };
    const text = JSON.stringify(theirs);
    writeFileSync(join(home, 'config.json'), JSON.stringify(own));
    writeFileSync(join(folder, 'odinconfig.json'), text);
    const load = async (): Promise<Config> => {
      const config = await loadConfig({ projectRoot: folder, home });
      if (!config.ok) throw new Error(config.failure.message);
      return config.value;
    };
    const names = ({ hooks }: Config) => hooks.map(({ name }) => name);
    const before = await load();
    expect(names(before)).toEqual(['config.json toolCall 1']);
    expect(before.trust.waiting).toEqual(['hooks.toolCall', 'hooks.done']);
    expect(before.tools['LS']).toMatchObject({ rateLimits: [{ calls: 1 }, { calls: 2 }], cacheMs: 2 });
    await acceptFolder(home, folder, text, 1);
    const after = await load();
    expect(names(after)).toEqual(['config.json toolCall 1', 'b', 'odinconfig.json done 1']);
    expect(after.trust.waiting).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('docs/hooks.md: its example is one that Odin accepts', async () => {
  const page = readFileSync(new URL('../../../docs/hooks.md', import.meta.url), 'utf8');
  const example = /```jsonc\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  expect(await parseConfig(example, 'odinconfig.json', 'project')).toMatchObject({
    ok: true,
    value: { hooks: { toolCall: [{ name: 'no-migrations' }], toolResult: [{ name: 'format' }] } },
  });
});
