// A model server on 127.0.0.1 that plays a script: for `odin demo`, the benchmarks and the tests. It speaks three APIs
// (their dialects are in files of their own), fails on the wire in the ways real providers do, and records every request.

import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../shared/json.ts';
import { anthropicDialect } from './anthropic-dialect.ts';
import { chatDialect } from './chat-dialect.ts';
import { httpErrorOf, OVERLOADED_EVENT, PROXY_PAGE } from './faults.ts';
import { responsesDialect } from './responses-dialect.ts';
import {
  type Script,
  type ScriptedAnswer,
  type ScriptedApi,
  type ScriptedDialect,
  type ScriptedError,
  stringIn,
} from './script.ts';

/** One request, recorded when it arrives, before it is answered. */
export interface RecordedRequest {
  readonly index: number;
  readonly api: ScriptedApi;
  /** The body's exact text; empty until it was received. */
  body: string;
  /** Without the values of keys. */
  readonly headers: Readonly<Record<string, string>>;
  /** process.hrtime.bigint() at the request's arrival. */
  readonly arrivedAt: bigint;
  /** Counts the server's TCP connections from 0. */
  readonly connection: number;
  /** Set when the client went away before the answer was whole. */
  aborted: boolean;
}

export interface ScriptedServer {
  /** `http://127.0.0.1:port`. Base URL of Anthropic's SDK; OpenAI's wants `/v1` behind it. */
  readonly url: string;
  /** Model requests only, in the order of their arrival. */
  readonly requests: readonly RecordedRequest[];
  /** TCP connections so far. */
  connections(): number;
  close(): Promise<void>;
}

export interface ScriptedServerOptions {
  readonly script: Script;
  /** What GET /v1/models lists. */
  readonly models?: readonly string[];
  /** Any other key is answered with 401. Absent: every key will do. */
  readonly acceptKey?: string;
  /** Default true. False for runs of thousands of requests: their bodies are dropped once read. */
  readonly keepBodies?: boolean;
  /** Called when an answer's last byte is written. */
  readonly onAnswered?: () => void;
}

const DIALECTS: readonly ScriptedDialect[] = [anthropicDialect, responsesDialect, chatDialect];
const KEY_HEADERS = new Set(['authorization', 'x-api-key', 'api-key', 'cookie']);

/** Starts the server on a free port. */
export async function startScriptedServer(options: ScriptedServerOptions): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = [];
  const connections = new WeakMap<Socket, number>();
  const lastBodies = new Map<string, string>();
  let connected = 0;

  const server = http.createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const dialect = DIALECTS.find((candidate) => candidate.path === path);
    const wrongKey = options.acceptKey !== undefined && !keysOf(request).includes(options.acceptKey);
    if (wrongKey) return sendJson(response, 401, (dialect ?? anthropicDialect).errorBody(WRONG_KEY));
    if (request.method === 'GET' && path === '/v1/models') return sendModels(response, options.models ?? ['scripted']);
    if (request.method !== 'POST' || dialect === undefined) return sendJson(response, 404, { error: 'not found' });
    const record: RecordedRequest = {
      index: requests.length,
      api: dialect.api,
      body: '',
      headers: headersOf(request),
      arrivedAt: process.hrtime.bigint(),
      connection: connections.get(request.socket) ?? -1,
      aborted: false,
    };
    requests.push(record);
    response.on('finish', () => options.onAnswered?.());
    response.on('close', () => {
      record.aborted = !response.writableFinished;
    });
    answerRequest(request, response, dialect, record).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: `The script failed: ${String(error)}` } });
    });
  });
  // A slow machine may let a connection rest for longer than Node keeps one: it would be cut as it is used again.
  server.keepAliveTimeout = 600_000;
  server.on('connection', (socket) => {
    connections.set(socket, connected);
    connected += 1;
  });

  const answerRequest = async (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    dialect: ScriptedDialect,
    record: RecordedRequest,
  ) => {
    const text = await readBody(request);
    if (options.keepBodies !== false) record.body = text;
    const body = JSON.parse(text) as JsonObject;
    const model = stringIn(body['model']);
    const cacheReadTokens = Math.floor(sharedPrefix(lastBodies.get(model) ?? '', text) / 4);
    lastBodies.set(model, text);
    const turn = { api: dialect.api, requestIndex: record.index, model, body, ...dialect.readTurn(body) };
    const answer = await options.script(turn);
    if (answer.delayMs !== undefined) await sleep(answer.delayMs);
    if (answer.fault === 'reset') return void request.socket.resetAndDestroy();
    if (answer.fault === 'no_headers') return;
    if (answer.fault === 'page_200') return sendPage(response, 200);
    if (answer.fault === 'page_502') return sendPage(response, 502);
    if (answer.fault === 'json_200') return sendJson(response, 200, dialect.errorBody(OVERLOADED_EVENT));
    const failure = answer.fault === undefined ? undefined : httpErrorOf(answer.fault, keyOf(request));
    if (failure !== undefined) {
      if (answer.retryAfter !== undefined) response.setHeader('retry-after', String(answer.retryAfter));
      return sendJson(response, failure.status, dialect.errorBody(failure));
    }
    const inputTokens = Math.ceil(Buffer.byteLength(text) / 4);
    const sameCallIds = answer.fault === 'same_call_ids';
    const about = { model, requestIndex: record.index, inputTokens, cacheReadTokens, sameCallIds };
    const events = dialect.events(answer, about);
    await sendEvents(response, dialect, answer, events);
  };

  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => connected,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function sendEvents(
  response: http.ServerResponse,
  dialect: ScriptedDialect,
  answer: ScriptedAnswer,
  events: readonly string[],
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const half = events.slice(0, Math.max(1, events.length >> 1));
  switch (answer.fault) {
    case 'stall':
      response.write(half.join(''));
      return;
    case 'cut':
      response.write(half.join(''), () => response.destroy());
      return;
    case 'empty_stream':
      response.end();
      return;
    case 'pings':
      return keepOpen(response, dialect.ping);
    case 'quiet_end':
      response.end(half.join(''));
      return;
    case 'bad_json':
      response.end(`${half.join('')}event: message\ndata: {"type": "mess\n\n`);
      return;
    case 'error_event':
      response.end(`${half.join('')}${dialect.errorEvent(OVERLOADED_EVENT)}`);
      return;
    default:
      break;
  }
  if (answer.pieceDelayMs === undefined) {
    response.end(events.join(''));
    return;
  }
  for (const event of events) {
    if (response.destroyed) return;
    response.write(event);
    await sleep(answer.pieceDelayMs);
  }
  response.end();
}

const PING_MS = 20;

function keepOpen(response: http.ServerResponse, ping: string): void {
  response.write(ping);
  const timer = setInterval(() => response.write(ping), PING_MS);
  response.on('close', () => clearInterval(timer));
}

async function readBody(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function headersOf(request: http.IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = KEY_HEADERS.has(name) ? '[key]' : String(value);
  }
  return headers;
}

const keyOf = (request: http.IncomingMessage): string => (request.headers.authorization ?? '').replace(/^Bearer /, '');

const keysOf = (request: http.IncomingMessage) => [keyOf(request), request.headers['x-api-key']];

const WRONG_KEY: ScriptedError = {
  status: 401,
  anthropicType: 'authentication_error',
  openaiType: 'invalid_request_error',
  openaiCode: 'invalid_api_key',
  message: 'This key is not valid.',
};

function sendModels(response: http.ServerResponse, models: readonly string[]): void {
  const data = models.map((id) => ({ id, object: 'model', type: 'model', display_name: id, created: 0 }));
  sendJson(response, 200, { object: 'list', data, has_more: false });
}

function sendPage(response: http.ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
  response.end(PROXY_PAGE);
}

function sendJson(response: http.ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** How many leading characters two texts share: what a provider's prompt cache would have had. */
function sharedPrefix(a: string, b: string): number {
  let low = 0;
  let high = Math.min(a.length, b.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (a.startsWith(b.slice(low, middle), low)) low = middle;
    else high = middle - 1;
  }
  return low;
}
