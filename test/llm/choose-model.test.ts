// O3: which models a run uses, step by step of the order, and what a person reads when there is none.

import { describe, expect, test } from '@jest/globals';
import { type ChooseModelInput, chooseModel } from '../../llm/choose-model.ts';
import { answered, failed, never, requestOf, withServer } from '../support/model-apis.ts';

const nobodyThere = async (): Promise<Response> => {
  throw new TypeError('fetch failed');
};

const choose = (input: Partial<ChooseModelInput>) => chooseModel({ env: {}, probe: nobodyThere, ...input });

async function chosen(input: Partial<ChooseModelInput>) {
  const outcome = await choose(input);
  if (!outcome.ok) throw new Error(outcome.failure.message);
  const { model, smallModel, source } = outcome.value;
  return { model, smallModel, source };
}

const BOTH_KEYS = { ANTHROPIC_API_KEY: 'sk-ant-1234567', OPENAI_API_KEY: 'sk-1234567' };

describe('the order', () => {
  const everything: Partial<ChooseModelInput> = {
    flagModel: 'openai/gpt-5.5',
    projectConfig: { model: 'openai/gpt-5.4' },
    userConfig: { model: 'openai/gpt-5.2' },
    env: BOTH_KEYS,
  };

  test('O3: --model comes first, then odinconfig.json, then the user’s config, then the environment', async () => {
    expect(await chosen(everything)).toMatchObject({ model: 'openai/gpt-5.5', source: '--model' });
    const noFlag = { ...everything, flagModel: undefined };
    expect(await chosen(noFlag)).toMatchObject({ model: 'openai/gpt-5.4', source: 'odinconfig.json' });
    const noProject = { ...noFlag, projectConfig: {} };
    expect(await chosen(noProject)).toMatchObject({ model: 'openai/gpt-5.2' });
    expect(await chosen({ env: BOTH_KEYS })).toMatchObject({ source: 'ANTHROPIC_API_KEY' });
  });

  test('O3: each provider has a pair: a planner and a lesser model', async () => {
    expect(await chosen({ env: { ANTHROPIC_API_KEY: 'k' } })).toEqual({
      model: 'anthropic/claude-opus-5-5',
      smallModel: 'anthropic/claude-haiku-5-5',
      source: 'ANTHROPIC_API_KEY',
    });
    expect(await chosen({ env: { OPENAI_API_KEY: 'k' } })).toEqual({
      model: 'openai/gpt-6.1-sol',
      smallModel: 'openai/gpt-6-luna',
      source: 'OPENAI_API_KEY',
    });
  });

  test('O3: the lesser model can be named on its own, by flag, project or user, in that order', async () => {
    const env = BOTH_KEYS;
    const small = async (input: Partial<ChooseModelInput>) => (await chosen({ env, ...input })).smallModel;
    const userConfig = { smallModel: 'openai/gpt-5-mini' };
    const projectConfig = { smallModel: 'openai/gpt-5-nano' };
    expect(await small({ userConfig })).toBe('openai/gpt-5-mini');
    expect(await small({ userConfig, projectConfig })).toBe('openai/gpt-5-nano');
    expect(await small({ userConfig, projectConfig, flagSmallModel: 'gpt-6-luna' })).toBe('openai/gpt-6-luna');
    expect(await small({ flagModel: 'openai/gpt-5.5' })).toBe('openai/gpt-6-luna');
  });

  test('E9: fallbacks come by flag, project or user; none is the planner’s own model or named twice', async () => {
    const fallbacks = async (input: Partial<ChooseModelInput>) => {
      const outcome = await choose({ env: BOTH_KEYS, ...input });
      if (!outcome.ok) throw new Error(outcome.failure.message);
      return outcome.value.fallbackModels;
    };
    const userConfig = { fallbackModels: ['openai/gpt-5.2'] };
    const projectConfig = { fallbackModels: ['gpt-5.4', 'openai/gpt-5.4', 'claude-haiku-5-5'] };
    expect(await fallbacks({})).toEqual([]);
    expect(await fallbacks({ userConfig })).toEqual(['openai/gpt-5.2']);
    expect(await fallbacks({ userConfig, projectConfig })).toEqual(['openai/gpt-5.4', 'anthropic/claude-haiku-5-5']);
    expect(await fallbacks({ userConfig, projectConfig, flagFallbackModels: ['gpt-5.5'] })).toEqual(['openai/gpt-5.5']);
    expect(await fallbacks({ flagModel: 'openai/gpt-5.2', userConfig })).toEqual([]);
  });

  test('E9: a fallback of the settings without a key here is left out and said; one by flag is refused', async () => {
    const env = { ANTHROPIC_API_KEY: 'k' };
    const fallbackModels = ['openai/gpt-5.2', 'anthropic/claude-haiku-5-5'];
    const outcome = await choose({ env, projectConfig: { fallbackModels } });
    expect(outcome).toMatchObject({ ok: true, value: { fallbackModels: ['anthropic/claude-haiku-5-5'] } });
    expect(outcome.ok && outcome.value.skipped).toEqual([expect.stringMatching(/left out: openai.*OPENAI_API_KEY/)]);
    const refused = await choose({ env, flagFallbackModels: fallbackModels });
    expect(failed(refused).message).toMatch(/^From --fallback-model: openai.*OPENAI_API_KEY/);
    const unknown = await choose({ env, userConfig: { fallbackModels: ['big'] } });
    expect(failed(unknown).message).toMatch(/^From fallbackModels: "big" does not say which provider/);
  });

  test('OPENAI_BASE_URL is asked for its models, with the key when there is one, and wins over OPENAI_API_KEY', async () => {
    await withServer(
      () => ({ text: 'Hello from here.' }),
      async (server) => {
        const env = { OPENAI_BASE_URL: `${server.url}/v1/`, OPENAI_API_KEY: 'sk-1234567' };
        const outcome = await chooseModel({ env });
        if (!outcome.ok) throw new Error(outcome.failure.message);
        const { model, smallModel, provider } = outcome.value;
        expect([model, smallModel]).toEqual(['compatible/scripted', 'compatible/scripted']);
        const opened = await provider(model);
        answered(await opened.stream(requestOf([{ role: 'user', text: 'Hi' }]), { signal: never() }));
        expect(server.requests).toMatchObject([{ api: 'chat', headers: { authorization: '[key]' } }]);
        expect(await provider(smallModel)).toBe(opened);
      },
    );
  });

  test('without a key none is sent to OPENAI_BASE_URL, not even one that the SDK would find by itself', async () => {
    const before = process.env['OPENAI_API_KEY'];
    process.env['OPENAI_API_KEY'] = 'sk-from-the-environment';
    try {
      await withServer(
        () => ({ text: 'ok' }),
        async (server) => {
          const outcome = await chooseModel({ env: { OPENAI_BASE_URL: `${server.url}/v1` } });
          if (!outcome.ok) throw new Error(outcome.failure.message);
          const provider = await outcome.value.provider(outcome.value.model);
          answered(await provider.stream(requestOf([{ role: 'user', text: 'Hi' }]), { signal: never() }));
          expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
        },
      );
    } finally {
      if (before === undefined) delete process.env['OPENAI_API_KEY'];
      else process.env['OPENAI_API_KEY'] = before;
    }
  });

  test('an OPENAI_BASE_URL that does not answer is said, with what to do', async () => {
    const failure = failed(await choose({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } }));
    expect(failure.code).toBe('no_model_named');
    expect(failure.message).toMatch(/http:\/\/127\.0\.0\.1:1\/v1\/models did not answer.*--model compatible\/NAME/);
  });

  test('ANTHROPIC_BASE_URL moves Anthropic’s API to another server', async () => {
    await withServer(
      () => ({ text: 'ok' }),
      async (server) => {
        const env = { ANTHROPIC_API_KEY: 'sk-ant-1234567', ANTHROPIC_BASE_URL: server.url };
        const outcome = await chooseModel({ env });
        if (!outcome.ok) throw new Error(outcome.failure.message);
        const provider = await outcome.value.provider(outcome.value.model);
        answered(await provider.stream(requestOf([{ role: 'user', text: 'Hi' }]), { signal: never() }));
        expect(server.requests).toMatchObject([{ api: 'anthropic', headers: { 'x-api-key': '[key]' } }]);
      },
    );
  });

  test('a local Ollama is found last, and its first model that can talk is taken', async () => {
    const asked: string[] = [];
    const probe = async (url: string) => {
      asked.push(url);
      return Response.json({ models: [{ name: 'nomic-embed-text:latest' }, { name: 'qwen3-coder:30b' }] });
    };
    expect(await chosen({ probe })).toEqual({
      model: 'ollama/qwen3-coder:30b',
      smallModel: 'ollama/qwen3-coder:30b',
      source: 'Ollama',
    });
    expect(asked).toEqual(['http://127.0.0.1:11434/api/tags']);
    await chosen({ env: BOTH_KEYS, probe });
    expect(asked).toHaveLength(1);
  });

  test('with nothing there, three short lines say what to do', async () => {
    const failure = failed(await choose({}));
    expect(failure.code).toBe('no_model');
    const lines = failure.message.split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.length).toBeLessThan(110);
    expect(failure.message).toContain('odin demo');
  });
});

describe('names', () => {
  test.each([
    ['claude-sonnet-5-5', 'anthropic/claude-sonnet-5-5'],
    ['gpt-6-sol', 'openai/gpt-6-sol'],
    ['o3', 'openai/o3'],
    ['qwen3:8b', 'ollama/qwen3:8b'],
    [' openai/gpt-6-sol ', 'openai/gpt-6-sol'],
  ])('%s is %s', async (flagModel, model) => {
    expect((await chosen({ flagModel, env: BOTH_KEYS })).model).toBe(model);
  });

  test('with OPENAI_BASE_URL set, a name with a slash of its own belongs there', async () => {
    const env = { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' };
    expect((await chosen({ flagModel: 'Qwen/Qwen3-Coder', env })).model).toBe('compatible/Qwen/Qwen3-Coder');
    expect((await chosen({ flagModel: 'claude-opus-5-5', env })).model).toBe('compatible/claude-opus-5-5');
  });

  test('a name that says no provider is refused with the forms that work', async () => {
    const failure = failed(await choose({ flagModel: 'my-model', env: BOTH_KEYS }));
    expect(failure.code).toBe('unknown_provider');
    expect(failure.message).toMatch(/From --model: "my-model".*provider\/name.*anthropic\/claude-opus-5-5/);
    expect(failed(await choose({ flagModel: 'anthropic/', env: BOTH_KEYS })).code).toBe('unknown_provider');
    expect(failed(await choose({ flagModel: 'compatible/x' })).message).toContain('OPENAI_BASE_URL');
  });

  test('a provider without its key is refused, with the variable to set and where the name came from', async () => {
    const failure = failed(await choose({ projectConfig: { model: 'anthropic/claude-opus-5-5' } }));
    expect(failure.code).toBe('no_key');
    expect(failure.message).toMatch(/From odinconfig\.json.*ANTHROPIC_API_KEY/);
  });
});

describe('providers of the user', () => {
  const providers = {
    work: { kind: 'openai-chat' as const, baseURL: 'http://127.0.0.1:1/v1', apiKeyEnv: 'WORK_KEY' },
  };

  test('the user’s config can define a provider, its key stays in the environment', async () => {
    const userConfig = { model: 'work/coder', providers };
    expect(await chosen({ userConfig, env: { WORK_KEY: 'w' } })).toMatchObject({
      model: 'work/coder',
      smallModel: 'work/coder',
    });
    expect(failed(await choose({ userConfig })).message).toContain('WORK_KEY');
  });

  test('SAFETY T2: a repository that defines a server is not listened to, only its model’s name is', async () => {
    const hostile = { model: 'evil/coder', providers: { evil: { kind: 'openai-chat', baseURL: 'http://evil.test' } } };
    const failure = failed(await choose({ projectConfig: hostile, env: BOTH_KEYS }));
    expect(failure.code).toBe('unknown_provider');
    const redefined = {
      model: 'anthropic/claude-opus-5-5',
      providers: { anthropic: { kind: 'anthropic', baseURL: 'http://127.0.0.1:1' } },
    };
    expect(await chosen({ projectConfig: redefined, env: BOTH_KEYS })).toMatchObject({
      model: 'anthropic/claude-opus-5-5',
    });
  });

  test('a model that nobody chose can be opened when its key is there, and is refused in one line when not', async () => {
    const outcome = await choose({ env: { OPENAI_API_KEY: 'k' } });
    if (!outcome.ok) throw new Error(outcome.failure.message);
    expect((await outcome.value.provider('openai/gpt-5.5')).name).toBe('openai');
    await expect(outcome.value.provider('anthropic/claude-opus-5-5')).rejects.toThrow(/ANTHROPIC_API_KEY/);
  });
});
