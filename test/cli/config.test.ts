import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadConfig, parseConfig } from '../../orchestrator/config.ts';
import { configJsonSchema } from '../../orchestrator/config-schema.ts';
import { nearestName } from '../../orchestrator/nearest-name.ts';

const problem = async (text: string, kind: 'project' | 'user' = 'project') => {
  const parsed = await parseConfig(text, 'odinconfig.json', kind);
  return parsed.ok ? `accepted: ${JSON.stringify(parsed.value)}` : parsed.failure.message;
};

describe('settings files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'odin-config-'));
    await mkdir(join(folder, 'home'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const load = () => loadConfig({ projectRoot: folder, home: join(folder, 'home') });

  test('without any file the defaults hold: ask mode and 25 steps (SPEC G3)', async () => {
    const config = await load();
    expect(config).toMatchObject({ ok: true, value: { defaultMode: 'ask', maxSteps: 25, project: {}, user: {} } });
  });

  test("the project's settings win over the user's, except that both may forbid and only the user may allow", async () => {
    await writeFile(
      join(folder, 'odinconfig.json'),
      `\ufeff// for this project
      { "model": "a/project", "maxSteps": 7, "AllowedCommands": ["make"], "ForbiddenCommands": ["rm"], "fileCache": {"maxEntries": 3}, }`,
    );
    await writeFile(
      join(folder, 'home', 'config.json'),
      `{ "model": "a/user", "defaultMode": "plan", "AllowedCommands": ["ls"], "ForbiddenCommands": ["dd"],
         "fileCache": {"maxEntries": 9, "evictionPolicy": "lru"},
         "providers": {"here": {"kind": "openai-chat", "baseURL": "http://127.0.0.1:8080/v1", "apiKeyEnv": "HERE_KEY"}} }`,
    );
    const config = await load();
    expect(config).toMatchObject({
      ok: true,
      value: {
        project: { model: 'a/project' },
        user: { model: 'a/user' },
        defaultMode: 'plan',
        maxSteps: 7,
        allowedCommands: ['ls'],
        forbiddenCommands: ['dd', 'rm'],
        fileCache: { maxEntries: 3, evictionPolicy: 'lru' },
        providers: { here: { kind: 'openai-chat' } },
      },
    });
  });

  test('a mistake in a file names the file', async () => {
    await writeFile(join(folder, 'home', 'config.json'), '{"maxSteps": 0}');
    const config = await load();
    expect(config.ok ? '' : config.failure.message).toBe(
      `${join(folder, 'home', 'config.json')}:1:14: "maxSteps": Too small: expected number to be >=1.`,
    );
  });

  test('O18: a folder in the place of odinconfig.json sets nothing: it is what a running command finds there', async () => {
    await mkdir(join(folder, 'odinconfig.json'));
    const config = await load();
    expect(config.ok && config.value.project).toEqual({});
    expect(config.ok && config.value.trust.status).toBe('none');
  });

  test.each([
    ['an empty file (no setting)', '  ', 'accepted: {}'],
    [
      'broken JSON',
      '{\n  "model" "x/y"\n}',
      'odinconfig.json:2:11: not valid JSON (colon expected). Correct it there.',
    ],
    [
      'a list instead of an object',
      '[]',
      'odinconfig.json:1:1: the file: Invalid input: expected object, received array.',
    ],
    [
      'an unknown key with a near one',
      '{"modell": "a/b"}',
      'odinconfig.json:1:2: unknown key "modell". Did you mean "model"?',
    ],
    [
      'an unknown key inside',
      '{"fileCache": {\n "maxEntrys": 3}}',
      'odinconfig.json:2:2: unknown key "maxEntrys" in "fileCache". Did you mean "maxEntries"?',
    ],
    [
      'an unknown key like no other',
      '{"edit": {"hooks": 1}}',
      'odinconfig.json:1:11: unknown key "hooks" in "edit". Known: validation.',
    ],
    [
      'two unknown keys are two lines',
      '{"modle": 1,\n"mode": 1}',
      /^odinconfig.json:1:2: .*"model".*\nodinconfig.json:2:1: unknown key "mode"/,
    ],
    [
      'the prototype',
      '{"fileCache": {"__proto__": {"x": 1}}}',
      'odinconfig.json:1:16: the key "__proto__" is never allowed. Remove it.',
    ],
    [
      'the prototype, escaped',
      '{"\\u005f_proto__": 1}',
      'odinconfig.json:1:2: the key "__proto__" is never allowed. Remove it.',
    ],
    [
      'a key twice',
      '{"maxSteps": 1, "maxSteps": 2}',
      'odinconfig.json:1:17: "maxSteps" is set twice. Keep one of them.',
    ],
    [
      'a wrong type',
      '{"AllowedCommands": ["ls", 3]}',
      'odinconfig.json:1:28: "AllowedCommands.1": Invalid input: expected string, received number.',
    ],
    [
      'a wrong mode',
      '{"defaultMode": "yolo"}',
      'odinconfig.json:1:17: "defaultMode": Invalid option: expected one of "ask"|"plan"|"edit".',
    ],
    ['a model with a space', '{"model": "a b"}', /1:11: "model": must be a model as provider\/name/],
    ["a provider in a project's file", '{"providers": {}}', /"providers" belongs in the user's own config/],
    [
      'a processor that is none',
      '{"context": {"processors": [{"use": "keepLast"}]}}',
      'odinconfig.json:1:37: "context.processors.0.use": must be one of truncateLongTools, dropLessRelevant, summarizeOlderThanN, keepLastN: did you mean "keepLastN".',
    ],
    [
      'a setting that its processor does not have',
      '{"context": {"processors": [{"use": "keepLastN", "maxChars": 9}]}}',
      'odinconfig.json:1:50: unknown key "maxChars" in "context.processors.0". Known: use, n.',
    ],
  ])('%s is answered with its place and what to do', async (_title, text, expected) => {
    expect(await problem(text)).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  });

  test.each([
    [
      'an empty name of a key',
      '{"providers": {"x": {"kind": "anthropic", "apiKeyEnv": ""}}}',
      /"providers.x.apiKeyEnv": Too small/,
    ],
    [
      'an address that is none',
      '{"providers": {"x": {"kind": "anthropic", "baseURL": "file:///etc"}}}',
      /:1:54: "providers.x.baseURL": Invalid URL/,
    ],
    [
      'an unknown key of a provider',
      '{"providers": {"x": {"kind": "anthropic", "apikey": "a"}}}',
      /unknown key "apikey" in "providers.x". Did you mean "apiKeyEnv"/,
    ],
    ['a provider name with capitals', '{"providers": {"X": {"kind": "anthropic"}}}', /must be lower-case/],
  ])("in the user's file, %s is refused", async (_title, text, expected) => {
    expect(await problem(text, 'user')).toMatch(expected);
  });

  test('docs/odinconfig.schema.json is what the schema says (node scripts/config-schema.ts writes it)', async () => {
    const published = await readFile(new URL('../../docs/odinconfig.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(published)).toEqual(configJsonSchema());
  });

  test('the nearest name is near, or there is none', () => {
    expect(nearestName('sesions', ['send', 'sessions'])).toBe('sessions');
    expect(nearestName('docotr', ['doctor', 'demo'])).toBe('doctor');
    expect(nearestName('banana', ['doctor', 'demo'])).toBeNull();
  });
});
