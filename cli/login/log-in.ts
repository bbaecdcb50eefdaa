// The steps of a login, whatever asks for them: provider, server, key, test, model, storing. Who talks to the user is the caller's
// (`LoginTalk`): a terminal, a dialog, or nobody when all is given.

import type { Config } from '../../orchestrator/config.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { baseUrlOf, checkKey, keyOf } from './check-key.ts';
import { type LoginProvider, loginProviders } from './providers.ts';

/** Asks the user. Null from any of them: the user has left. */
export interface LoginTalk {
  choose(
    question: string,
    choices: readonly { readonly name: string; readonly title: string }[],
  ): Promise<string | null>;
  /** An empty line is `suggested`. */
  line(question: string, suggested: string): Promise<string | null>;
  /** What is typed or pasted is not shown. */
  secret(question: string): Promise<string | null>;
  say(line: string): void;
}

export interface LoginRequest {
  readonly provider?: string | undefined;
  readonly baseURL?: string | undefined;
  readonly model?: string | undefined;
  /** False: in the file, also where there is a keyring. */
  readonly keyring?: boolean | undefined;
}

export interface LoggedIn {
  readonly provider: LoginProvider;
  /** Where the key is; null: there is none. */
  readonly place: 'keyring' | 'file' | null;
  /** Models that the server lists. */
  readonly models: readonly string[];
  /** The one that was named or chosen. */
  readonly model: string | null;
}

/** Keeps nothing before the server has taken the key. */
export async function logIn(
  home: string,
  config: Pick<Config, 'providers'>,
  request: LoginRequest,
  talk: LoginTalk,
  signal: AbortSignal,
): Promise<Outcome<LoggedIn>> {
  const found = await providerOf(loginProviders(config), request.provider, talk);
  if (!found.ok) return found;
  const provider = found.value;
  const { name } = provider;
  const server = await serverOf(provider, request.baseURL, talk);
  if (!server.ok) return server;
  const baseURL = server.value;
  const where = provider.keysAt === null ? '' : ` (from ${provider.keysAt})`;
  const typed = await talk.secret(
    `Key for ${name}${where}${provider.key === 'optional' ? ', or Enter for none' : ''}: `,
  );
  if (typed === null) return LEFT;
  const given = keyOf(typed);
  if (!given.ok) return given;
  const key = given.value;
  if (key === undefined && provider.key === 'needed') return fail('invalid', 'no_key', `No key was given for ${name}.`);
  if (key !== undefined && isPlainHttp(baseURL))
    talk.say(`Careful: ${baseURL} is not encrypted, so the key can be read on its way.`);
  talk.say(`Asking ${name} for its models…`);
  const listed = await checkKey({ provider: name, key, baseURL }, config, signal);
  if (!listed.ok) {
    const { kind, code, message } = listed.failure;
    return fail(kind, code, `Nothing was stored. ${cleanLine(message)}`);
  }
  const models = listed.value;
  const chosen = await modelOf(provider, request.model, models, talk);
  if (!chosen.ok) return chosen;
  const model = chosen.value;
  const { storeKey } = await import('../../orchestrator/stored-keys.ts');
  const testedAt = baseURL ?? config.providers[name]?.baseURL;
  const place = await storeKey(
    home,
    name,
    {
      ...(key === undefined ? {} : { key }),
      ...(testedAt === undefined ? {} : { baseURL: testedAt }),
      ...(model === null ? {} : { model }),
      at: Date.now(),
    },
    request.keyring === false ? { keyring: false } : {},
  );
  return ok({ provider, place, models, model });
}

const LEFT = fail('cancelled', 'left', 'Nothing was stored.');

async function providerOf(
  providers: readonly LoginProvider[],
  wanted: string | undefined,
  talk: LoginTalk,
): Promise<Outcome<LoginProvider>> {
  const name = wanted ?? (await talk.choose('Which provider?', providers));
  if (name === null) return LEFT;
  const found = providers.find((provider) => provider.name === name);
  if (found) return ok(found);
  const names = providers.map((provider) => provider.name).join(', ');
  const hint =
    name === 'ollama' ? 'A local Ollama needs no login: start it, and Odin finds it.' : `There are: ${names}.`;
  return fail('invalid', 'unknown_provider', `"${cleanLine(name, 60)}" is no provider to log in to. ${hint}`);
}

async function serverOf(
  { name, baseURL }: LoginProvider,
  given: string | undefined,
  talk: LoginTalk,
): Promise<Outcome<string | undefined>> {
  if (given !== undefined && baseURL === 'fixed') {
    return fail('invalid', 'fixed_url', `Where ${name} is, your config.json says. Leave --base-url out.`);
  }
  if (given === undefined && baseURL !== 'needed') return ok(undefined);
  const text = given ?? (await talk.line('Base URL of the server', 'http://127.0.0.1:8080/v1'));
  return text === null ? LEFT : baseUrlOf(text);
}

/** What a run takes when no model is named; null when the provider has one of its own. */
async function modelOf(
  { name, wantsModel }: LoginProvider,
  given: string | undefined,
  models: readonly string[],
  talk: LoginTalk,
): Promise<Outcome<string | null>> {
  if (given === undefined && !wantsModel) return ok(null);
  const { isForText } = await import('../../llm/choose-model.ts');
  const suggested = models.find(isForText);
  if (given === undefined && suggested === undefined) return ok(null);
  if (given === undefined) talk.say(listedText(models.filter(isForText)));
  const typed = given ?? (await talk.line('Which model should plan and answer', suggested ?? ''));
  if (typed === null) return LEFT;
  const model = typed.trim().startsWith(`${name}/`) ? typed.trim().slice(name.length + 1) : typed.trim();
  if (models.includes(model)) return ok(model);
  return fail(
    'invalid',
    'unknown_model',
    `${name} does not list a model "${cleanLine(model, 80)}". Nothing was stored.`,
  );
}

const SHOWN = 12;

function listedText(models: readonly string[]): string {
  const more = models.length > SHOWN ? `, and ${models.length - SHOWN} more` : '';
  return `It lists ${models
    .slice(0, SHOWN)
    .map((model) => cleanLine(model, 80))
    .join(', ')}${more}.`;
}

const isPlainHttp = (url: string | undefined): boolean =>
  url !== undefined &&
  url.startsWith('http:') &&
  !/^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname);
