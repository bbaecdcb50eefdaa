// The providers that `odin login` knows how to set up: what each one needs, and where its keys are made.

import type { Config } from '../../orchestrator/config.ts';

export interface LoginProvider {
  readonly name: string;
  readonly title: string;
  /** Where a key is made; null: whoever runs the server knows. */
  readonly keysAt: string | null;
  readonly key: 'needed' | 'optional';
  /** needed: the user says where the server is. own: the user may. fixed: the settings say it. */
  readonly baseURL: 'needed' | 'own' | 'fixed';
  /** It has no model that a run would take by itself, so the login names one. */
  readonly wantsModel: boolean;
  /** Its variable in the environment, which goes before what is stored. */
  readonly variable: string | null;
}

const KNOWN: readonly LoginProvider[] = [
  {
    name: 'anthropic',
    title: 'Claude, by Anthropic',
    keysAt: 'https://console.anthropic.com/settings/keys',
    key: 'needed',
    baseURL: 'own',
    wantsModel: false,
    variable: 'ANTHROPIC_API_KEY',
  },
  {
    name: 'openai',
    title: 'OpenAI',
    keysAt: 'https://platform.openai.com/api-keys',
    key: 'needed',
    baseURL: 'own',
    wantsModel: false,
    variable: 'OPENAI_API_KEY',
  },
  {
    name: 'openrouter',
    title: 'OpenRouter, models of many makers',
    keysAt: 'https://openrouter.ai/settings/keys',
    key: 'needed',
    baseURL: 'own',
    wantsModel: true,
    variable: 'OPENROUTER_API_KEY',
  },
  {
    name: 'compatible',
    title: 'a server with the OpenAI chat API (vLLM, llama.cpp, LM Studio, a proxy)',
    keysAt: null,
    key: 'optional',
    baseURL: 'needed',
    wantsModel: true,
    variable: 'OPENAI_BASE_URL',
  },
];

/** The known ones and those of the user's config that want a key; the user's own definition of a name wins. */
export function loginProviders({ providers }: Pick<Config, 'providers'>): readonly LoginProvider[] {
  const own = Object.entries(providers).flatMap(([name, { apiKeyEnv, baseURL }]): readonly LoginProvider[] =>
    apiKeyEnv === undefined
      ? []
      : [
          {
            name,
            title: `${baseURL ?? name}, of your config.json`,
            keysAt: null,
            key: 'needed',
            baseURL: 'fixed',
            wantsModel: true,
            variable: apiKeyEnv,
          },
        ],
  );
  return [...KNOWN.filter(({ name }) => !Object.hasOwn(providers, name)), ...own];
}
