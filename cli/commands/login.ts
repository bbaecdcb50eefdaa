// `odin login`: a provider's key, tested and kept for this user. In a terminal it asks; without one the key comes by stdin.

import { text } from 'node:stream/consumers';
import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { type LoggedIn, type LoginRequest, type LoginTalk, logIn } from '../login/log-in.ts';
import { type Place, placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';

export interface LoginOptions {
  readonly baseUrl?: string;
  readonly model?: string;
  readonly keyring?: boolean;
}

export async function login(provider: string | undefined, options: LoginOptions): Promise<number> {
  const { stdin, stderr } = process;
  const isTerminal = stdin.isTTY === true && stderr.isTTY === true;
  const talk = isTerminal
    ? (await import('../login/terminal-talk.ts')).terminalTalk(stdin, stderr)
    : silentTalk(provider, options);
  const { baseUrl: baseURL, model, keyring } = options;
  await loginAt(placeHere(), { provider, baseURL, model, keyring }, talk);
  return EXIT.completed;
}

/** Throws UserError when nothing was stored, with the reason. */
export async function loginAt(place: Place, request: LoginRequest, talk: LoginTalk): Promise<void> {
  const outcome = await logIn(place.home, await settingsOf(place), request, talk, new AbortController().signal);
  if (outcome.ok) return talk.say(storedText(outcome.value, process.env));
  const { kind, message } = outcome.failure;
  throw new UserError(message, kind === 'cancelled' ? EXIT.cancelled : kind === 'invalid' ? EXIT.usage : EXIT.failed);
}

/** Nobody answers: all but the key must be given. */
function silentTalk(provider: string | undefined, { baseUrl }: LoginOptions): LoginTalk {
  if (provider === undefined) {
    throw new UserError('name the provider, and give the key by stdin: odin login anthropic < keyfile', EXIT.usage);
  }
  if (provider === 'compatible' && baseUrl === undefined) {
    throw new UserError(
      'say where the server is: odin login compatible --base-url http://127.0.0.1:8080/v1 < keyfile',
      EXIT.usage,
    );
  }
  return {
    choose: () => Promise.resolve(null),
    line: (_question, suggested) => Promise.resolve(suggested),
    secret: () => text(process.stdin),
    say: (line) => void process.stderr.write(`${line}\n`),
  };
}

function storedText({ provider, place, models, model }: LoggedIn, env: NodeJS.ProcessEnv): string {
  const { name, variable } = provider;
  const where =
    place === null
      ? 'It needs no key.'
      : place === 'keyring'
        ? 'Its key is in the keyring.'
        : 'Its key is in keys.json of $ODIN_HOME (~/.odin), which only you can read.';
  const lines = [
    `Logged in to ${name}: it lists ${models.length} models. ${where}`,
    ...(model === null ? [] : [`A run takes ${cleanLine(`${name}/${model}`)} when it names none.`]),
    ...(variable !== null && env[variable] ? [`${variable} is set in the environment and goes before it.`] : []),
  ];
  return lines.join('\n');
}
