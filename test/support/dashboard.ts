// A dashboard over a test's Odin, and a visitor of it that speaks plain HTTP, so that a test says every header itself.

import { request } from 'node:http';
import { type Dashboard, startDashboard } from '../../dashboard/server.ts';
import type { Odin } from '../../orchestrator/api.ts';
import { connectRedis } from '../../orchestrator/redis.ts';
import type { World } from './odin-world.ts';

export interface OpenDashboard extends Dashboard {
  /** The client that it asks through. */
  readonly odin: Odin;
  readonly links: readonly string[];
  readonly errors: readonly unknown[];
}

/** Watches ten times as often as a person needs it. */
export async function openDashboard(
  world: World,
  options: Partial<Pick<Parameters<typeof startDashboard>[0], 'port' | 'allowQueueActions' | 'env'>> = {},
): Promise<OpenDashboard> {
  const odin = await world.open({ models: false });
  const redis = await connectRedis({ home: world.home, notice: () => {} });
  const links: string[] = [];
  const errors: unknown[] = [];
  const dashboard = await startDashboard({
    ...{ odin, redis, home: world.home, port: 0, watchEveryMs: 20, ...options },
    onLink: (link) => links.push(link),
    onError: (error) => errors.push(error),
  });
  return {
    ...dashboard,
    odin,
    links,
    errors,
    async close() {
      await dashboard.close();
      await redis.close();
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  /** Null leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string;
}

/** One request, with exactly the headers that are given besides Host. */
export function ask(origin: string, path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Reply> {
  const { hostname, port, host } = new URL(origin);
  const sent = Object.fromEntries(Object.entries({ host, ...headers }).filter(([, value]) => value !== null));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { hostname, port, path, method, headers: sent as Record<string, string>, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export const JSON_TYPE = { 'content-type': 'application/json' };

/** The headers of a page that has logged in; without Origin and content type, which belong to a change. */
export async function logIn(dashboard: Pick<Dashboard, 'origin' | 'link'>): Promise<Record<string, string>> {
  const { origin } = dashboard;
  const token = new URLSearchParams(new URL(dashboard.link()).hash.slice(1)).get('token');
  const headers = { ...JSON_TYPE, origin };
  const reply = await ask(origin, '/api/login', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (reply.status !== 200) throw new Error(`The login said ${reply.status}: ${reply.text}`);
  const cookie = String(reply.headers['set-cookie']).split(';')[0] ?? '';
  return { cookie, 'x-odin-key': (JSON.parse(reply.text) as { key: string }).key };
}

export interface StreamMessage {
  readonly type: string;
  readonly id: string;
  readonly data: unknown;
}

/** Reads an event stream until `isEnough`, and leaves. */
export async function readStream(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  isEnough: (messages: readonly StreamMessage[]) => boolean,
): Promise<readonly StreamMessage[]> {
  const leave = new AbortController();
  const response = await fetch(`${origin}${path}`, { headers, signal: leave.signal });
  if (!response.ok || response.body === null) throw new Error(`${path} said ${response.status}`);
  const messages: StreamMessage[] = [];
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    const parts = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? '';
      if (field('data') !== '')
        messages.push({ type: field('event'), id: field('id'), data: JSON.parse(field('data')) });
    }
    if (isEnough(messages)) break;
  }
  leave.abort();
  return messages;
}
