// Which models a run uses (SPEC O3): the planner's, and a lesser one for everything else. The first that names one wins:
// --model, the project's odinconfig.json, the user's config, ANTHROPIC_API_KEY, OPENAI_BASE_URL or OPENAI_API_KEY, the newest
// `odin login`, a local Ollama. A project may name models, never servers or keys (SAFETY T2): its type has no place for them.

import * as z from 'zod';
import { fail, type Outcome, ok, UserError } from '../shared/outcome.ts';
import type { ModelProvider } from '../shared/ports.ts';
import {
  type Env,
  hasOtherOpenaiServer,
  isSet,
  type KnownProvider,
  OLLAMA_URL,
  openProvider,
  PROVIDER_NAMES,
  type ProviderConfig,
  providerNamed,
  type StoredKeys,
} from './known-providers.ts';

export interface ModelNames {
  readonly model?: string | undefined;
  readonly smallModel?: string | undefined;
  readonly fallbackModels?: readonly string[] | undefined;
}

export interface ChooseModelInput {
  readonly flagModel?: string | undefined;
  readonly flagSmallModel?: string | undefined;
  readonly flagFallbackModels?: readonly string[] | undefined;
  readonly projectConfig?: ModelNames | undefined;
  readonly userConfig?: (ModelNames & { readonly providers?: Readonly<Record<string, ProviderConfig>> }) | undefined;
  readonly env: Env;
  /** Of `odin login`. */
  readonly keys?: StoredKeys | undefined;
  /** Asks a server what it has. The global fetch, unless a test says otherwise. */
  readonly probe?: (url: string, init: { headers: Record<string, string>; signal: AbortSignal }) => Promise<Response>;
}

/** Fits ModelPair of orchestrator/api.ts. */
export interface ChosenModels {
  readonly model: string;
  readonly smallModel: string;
  /** Asked in this order when the planner's model stays unavailable (SPEC E9). */
  readonly fallbackModels: readonly string[];
  /** Why models that the settings name as fallbacks are not among them: one line each, for the user. */
  readonly skipped: readonly string[];
  /** Where the planner's name came from, for the user: `--model`, `odinconfig.json`, `ANTHROPIC_API_KEY`… */
  readonly source: string;
  /** Throws UserError for a model whose provider is unknown or has no key. */
  readonly provider: (model: string) => Promise<ModelProvider>;
  /** How to reach it from a thread of this process: plain data with the key in it. Throws as `provider` does. */
  readonly access: (model: string) => KnownProvider;
}

interface Found {
  readonly model: string;
  readonly source: string;
}

const OLLAMA_TIMEOUT_MS = 300;
const LIST_TIMEOUT_MS = 3_000;

const FORMS = 'Write provider/name, as in anthropic/claude-opus-5-5, openai/gpt-6.1-sol or ollama/qwen3-coder';

const NO_MODEL = `No model is set up yet.
Run odin login, set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENAI_BASE_URL, or start Ollama.
To look around first, run: odin demo`;

/** Fails with code `no_model` when there is none, and with a sentence on what to do when the one named cannot be used. */
export async function chooseModel(input: ChooseModelInput): Promise<Outcome<ChosenModels>> {
  const own = input.userConfig?.providers ?? {};
  const find = (model: string) => resolve(model, input, own);
  const found = named(input) ?? (await fromEnvironment(input));
  if (!('model' in found)) return found;
  const planner = find(found.model);
  if (!planner.ok) return withSource(planner, found.source);
  const smallName = input.flagSmallModel ?? input.projectConfig?.smallModel ?? input.userConfig?.smallModel;
  const smallModel = smallName ?? planner.value.provider.defaults?.smallModel ?? planner.value.full;
  const small = find(smallModel);
  if (!small.ok) return withSource(small, 'the small model');

  const fallbacks = fallbacksOf(input, find);
  if (!fallbacks.ok) return fallbacks;

  const opened = new Map<string, Promise<ModelProvider>>();
  return ok({
    model: planner.value.full,
    smallModel: small.value.full,
    fallbackModels: fallbacks.value.models.filter((model) => model !== planner.value.full),
    skipped: fallbacks.value.skipped,
    source: found.source,
    access(model) {
      const target = find(model);
      if (!target.ok) throw new UserError(target.failure.message);
      return target.value.provider;
    },
    async provider(model) {
      const target = find(model);
      if (!target.ok) throw new UserError(target.failure.message);
      const { provider } = target.value;
      const open = opened.get(provider.name) ?? openProvider(provider);
      opened.set(provider.name, open);
      return open;
    },
  });
}

/** `provider/name` in its two parts; the name may hold more slashes. */
export function splitModel(model: string): { readonly provider: string; readonly name: string } {
  const at = model.indexOf('/');
  return at < 0 ? { provider: '', name: model } : { provider: model.slice(0, at), name: model.slice(at + 1) };
}

function named(input: ChooseModelInput): Found | undefined {
  if (isSet(input.flagModel)) return { model: input.flagModel, source: '--model' };
  if (isSet(input.projectConfig?.model)) return { model: input.projectConfig.model, source: 'odinconfig.json' };
  if (isSet(input.userConfig?.model)) return { model: input.userConfig.model, source: "the user's config" };
  return undefined;
}

/** What the user names must be usable; what the settings name is left out where this machine has no key for it. */
function fallbacksOf(
  input: ChooseModelInput,
  find: (model: string) => Outcome<Resolved>,
): Outcome<{ readonly models: readonly string[]; readonly skipped: readonly string[] }> {
  const flags = input.flagFallbackModels;
  const names = flags ?? input.projectConfig?.fallbackModels ?? input.userConfig?.fallbackModels ?? [];
  const source = flags === undefined ? 'fallbackModels' : '--fallback-model';
  const models = new Set<string>();
  const skipped: string[] = [];
  for (const name of names) {
    const found = find(name);
    if (found.ok) models.add(found.value.full);
    else if (flags === undefined && found.failure.code === 'no_key') {
      skipped.push(`From ${source}, left out: ${found.failure.message}`);
    } else return withSource(found, source);
  }
  return ok({ models: [...models], skipped });
}

async function fromEnvironment(input: ChooseModelInput): Promise<Found | ReturnType<typeof fail>> {
  const { env } = input;
  const byKey = (name: string, source: string): Found | undefined => {
    const model = providerNamed(name, env, {})?.defaults?.model;
    return model === undefined ? undefined : { model, source };
  };
  if (isSet(env['ANTHROPIC_API_KEY'])) {
    const found = byKey('anthropic', 'ANTHROPIC_API_KEY');
    if (found !== undefined) return found;
  }
  if (hasOtherOpenaiServer(env)) return fromBaseURL(input);
  if (isSet(env['OPENAI_API_KEY'])) {
    const found = byKey('openai', 'OPENAI_API_KEY');
    if (found !== undefined) return found;
  }
  return (await fromLogin(input)) ?? (await fromOllama(input)) ?? fail('failed', 'no_model', NO_MODEL);
}

const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });
const TagList = z.object({ models: z.array(z.object({ name: z.string() })) });

/** The newest login that says, or whose server says, which model. */
async function fromLogin(input: ChooseModelInput): Promise<Found | undefined> {
  const own = input.userConfig?.providers ?? {};
  const newest = Object.entries(input.keys ?? {}).toSorted(([, a], [, b]) => b.at - a.at);
  for (const [name, stored] of newest) {
    const provider = providerNamed(name, input.env, own, input.keys);
    if (provider === undefined || provider.missingKey !== undefined) continue;
    if (stored.model !== undefined) return { model: `${name}/${stored.model}`, source: LOGIN };
    if (provider.defaults !== undefined) return { model: provider.defaults.model, source: LOGIN };
    const model = name === 'compatible' ? (await textModels(input, provider)).names[0] : undefined;
    if (model !== undefined) return { model: `${name}/${model}`, source: LOGIN };
  }
  return undefined;
}

const LOGIN = 'odin login';

async function fromBaseURL(input: ChooseModelInput): Promise<Found | ReturnType<typeof fail>> {
  const provider = providerNamed('compatible', input.env, {}, input.keys);
  const { url, names, answered } = await textModels(input, provider);
  const [name] = names;
  if (name !== undefined) return { model: `compatible/${name}`, source: 'OPENAI_BASE_URL' };
  const why = answered ? 'lists no model' : 'did not answer with a list of models';
  return fail(
    'failed',
    'no_model_named',
    `OPENAI_BASE_URL is set, but ${url} ${why}. Start that server, or name a model: --model compatible/NAME.`,
  );
}

/** The models of a compatible server that are for text, in its order. */
async function textModels(input: ChooseModelInput, provider: KnownProvider | undefined) {
  const { baseURL, apiKey } = provider?.options ?? {};
  const url = `${baseURL?.replace(/\/+$/, '')}/models`;
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const list = ModelList.safeParse(await ask(input, url, headers, LIST_TIMEOUT_MS));
  const names = list.success ? list.data.data.map((model) => model.id).filter(isForText) : [];
  return { url, names, answered: list.success };
}

async function fromOllama(input: ChooseModelInput): Promise<Found | undefined> {
  const list = TagList.safeParse(await ask(input, `${OLLAMA_URL}/api/tags`, {}, OLLAMA_TIMEOUT_MS));
  const name = list.success ? list.data.models.map((model) => model.name).find(isForText) : undefined;
  return name === undefined ? undefined : { model: `ollama/${name}`, source: 'Ollama' };
}

/** Servers list embedding models among the others. */
export const isForText = (name: string): boolean => !/embed|rerank/i.test(name);

async function ask(
  input: ChooseModelInput,
  url: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<unknown> {
  try {
    const response = await (input.probe ?? fetch)(url, { headers, signal: AbortSignal.timeout(timeoutMs) });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

interface Resolved {
  readonly full: string;
  readonly provider: KnownProvider;
}

function resolve(
  model: string,
  { env, keys }: ChooseModelInput,
  own: Readonly<Record<string, ProviderConfig>>,
): Outcome<Resolved> {
  const wanted = model.trim();
  const split = splitModel(wanted);
  const known = split.provider === '' ? undefined : providerNamed(split.provider, env, own, keys);
  if (known !== undefined && split.name !== '') return usable(wanted, known);
  const guess = inferProvider(wanted, split.provider, env);
  const guessed = guess === undefined ? undefined : providerNamed(guess, env, own, keys);
  if (guessed !== undefined && split.name !== '') return usable(`${guessed.name}/${wanted}`, guessed);
  const names = [...new Set([...Object.keys(own), ...PROVIDER_NAMES])].join(', ');
  const hint =
    split.provider === 'compatible' ? ' "compatible" needs OPENAI_BASE_URL to be set, or `odin login compatible`.' : '';
  return fail(
    'failed',
    'unknown_provider',
    `"${wanted}" does not say which provider to ask.${hint} ${FORMS}. Providers: ${names}.`,
  );
}

function usable(full: string, provider: KnownProvider): Outcome<Resolved> {
  if (provider.missingKey === undefined) return ok({ full, provider });
  const message = `${full} needs a key: run \`odin login ${provider.name}\`, set ${provider.missingKey}, or name another model by --model.`;
  return fail('failed', 'no_key', message);
}

/** For names without a provider, and for names such as Qwen/Qwen3-Coder whose slash is their own. */
function inferProvider(model: string, prefix: string, env: Env): string | undefined {
  if (prefix === '' && /^claude/i.test(model) && isSet(env['ANTHROPIC_API_KEY'])) return 'anthropic';
  if (hasOtherOpenaiServer(env) && prefix !== 'compatible') return 'compatible';
  if (prefix !== '') return undefined;
  if (/^claude/i.test(model)) return 'anthropic';
  if (/^(?:gpt-|chatgpt-|codex-|o\d)/i.test(model)) return 'openai';
  // Ollama's names carry a tag.
  return /^[\w.-]+:[\w.-]+$/.test(model) ? 'ollama' : undefined;
}

function withSource(
  outcome: { readonly ok: false; readonly failure: { readonly code: string; readonly message: string } },
  source: string,
) {
  return fail('failed', outcome.failure.code, `From ${source}: ${outcome.failure.message}`);
}
