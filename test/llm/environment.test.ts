// The environment names keys to Odin alone: what an SDK would read there by itself reaches no request.

import { describe, expect, test } from '@jest/globals';
import { providerNamed } from '../../llm/known-providers.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { answered, MODEL_APIS, never, requestOf, TEST_KEY, withServer } from '../support/model-apis.ts';

const HEADERS = 'X-Leak: from-the-environment\nAuthorization: Bearer other\nX-Api-Key: other\nUser-Agent: other';

const HOSTILE = (url: string) => ({
  ANTHROPIC_CUSTOM_HEADERS: HEADERS,
  OPENAI_CUSTOM_HEADERS: HEADERS,
  ANTHROPIC_BASE_URL: url,
  OPENAI_BASE_URL: `${url}/v1`,
  ANTHROPIC_API_KEY: 'other',
  OPENAI_API_KEY: 'other',
  ANTHROPIC_AUTH_TOKEN: 'other',
  OPENAI_ADMIN_KEY: 'other',
  OPENAI_ORG_ID: 'other',
  OPENAI_PROJECT_ID: 'other',
  ANTHROPIC_PROFILE: 'other',
  ANTHROPIC_LOG: 'debug',
  OPENAI_LOG: 'debug',
});

describe.each(MODEL_APIS)('$api', ({ open }) => {
  test('a request is the same whatever the environment says to the SDK, and goes where Odin sends it', async () => {
    const server = await startScriptedServer({ script: () => ({ text: 'ok' }), acceptKey: TEST_KEY });
    try {
      const ask = async () => {
        const provider = open(server.url);
        answered(await provider.stream(requestOf([{ role: 'user', text: 'Hi' }]), { signal: never() }));
        expect((await provider.listModels(never())).ok).toBe(true);
      };
      await ask();
      await withServer(
        () => ({ text: 'elsewhere' }),
        async (elsewhere) => {
          const variables = HOSTILE(elsewhere.url);
          await withVariables(variables, async () => {
            await ask();
            expect(process.env).toMatchObject(variables);
          });
          expect(elsewhere.connections()).toBe(0);
        },
      );
      const [without, withThem] = server.requests;
      expect(withThem?.headers).toEqual(without?.headers);
      expect(withThem?.body).toBe(without?.body);
    } finally {
      await server.close();
    }
  });
});

test('an organization and a project of the environment are for OpenAI itself, and for no other server', () => {
  const env = { OPENAI_API_KEY: TEST_KEY, OPENAI_ORG_ID: ' org-1 ', OPENAI_PROJECT_ID: 'proj-1' };
  expect(providerNamed('openai', env, {})?.options.headers).toEqual({
    'OpenAI-Organization': 'org-1',
    'OpenAI-Project': 'proj-1',
  });
  const other = { ...env, OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  for (const name of ['openai', 'compatible', 'openrouter']) {
    expect(providerNamed(name, other, {})?.options).not.toHaveProperty('headers');
  }
  const kept = { openai: { key: TEST_KEY, baseURL: 'http://127.0.0.1:9/v1', at: 1 } };
  expect(providerNamed('openai', { OPENAI_ORG_ID: 'org-1' }, {}, kept)?.options).toEqual({
    name: 'openai',
    apiKey: TEST_KEY,
    baseURL: 'http://127.0.0.1:9/v1',
  });
});

/** Sets them while `run` runs. */
async function withVariables(variables: Readonly<Record<string, string>>, run: () => Promise<void>): Promise<void> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  try {
    await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
