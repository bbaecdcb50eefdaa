// `odin dashboard`'s server (SPEC C5, E16; SAFETY 6): a page, what it reads and what it may ask for. It runs no turns and opens no
// session: it reads journals and hands requests to whoever owns them, as the commands do. The guard stands before every route.

import { readFileSync } from 'node:fs';
import type { FastifyError, FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Odin } from '../orchestrator/api.ts';
import { workspaceId } from '../orchestrator/keys.ts';
import type { RedisHandle } from '../orchestrator/redis.ts';
import { agentChart } from '../orchestrator/watch/agent-chart.ts';
import { readFigures } from '../orchestrator/watch/figures.ts';
import { watchSessions } from '../orchestrator/watch/session-watch.ts';
import { openTaskEvents } from '../orchestrator/watch/task-events.ts';
import type { Journaled } from '../shared/events.ts';
import { UserError } from '../shared/outcome.ts';
import { addActions, type SessionParams } from './actions.ts';
import { addBoard } from './board.ts';
import { createCredentials, dashboardSecret, keepMetricsToken, LOGIN_MS } from './credentials.ts';
import { createEventStreams } from './event-stream.ts';
import { createFeeds } from './feeds.ts';
import { addBatchResults, watchFleet } from './fleet.ts';
import { addGuard, hostsOf, visitorOf } from './guard.ts';
import { createMetrics } from './metrics.ts';
import { addPageFiles } from './page-files.ts';
import { createShowSafely } from './show-safely.ts';
import { addTasks } from './tasks.ts';
import { openTraces } from './traces.ts';
import { createViews } from './views.ts';

export interface DashboardOptions {
  /** Opened without models. */
  readonly odin: Odin;
  readonly redis: RedisHandle;
  readonly home: string;
  /** Default: 127.0.0.1. Another one needs `tls`. */
  readonly host?: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Called with the link for the next visitor when one has been used. */
  onLink(url: string): void;
  onError?(error: unknown): void;
  /** bull-board may retry and remove wake-ups. Default: it only shows them. */
  readonly allowQueueActions?: boolean;
  readonly watchEveryMs?: number;
  /** OTEL_*. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface Dashboard {
  readonly origin: string;
  /** The link that works once, its token behind the #, which browsers do not send. */
  link(): string;
  /** The file whose text a program that reads /metrics sends as its bearer token. */
  readonly metricsTokenFile: string;
  close(): Promise<void>;
}

const BODY_BYTES = 256 * 1024;
const TASKS_EVERY_MS = 10_000;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** Throws UserError when it cannot or must not listen there. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { odin, redis, home, host = '127.0.0.1', tls } = options;
  insistOnSafePlace(host, tls !== undefined);
  const now = Date.now;
  const onError = options.onError ?? (() => {});
  const credentials = createCredentials(dashboardSecret(home));
  const metricsTokenFile = keepMetricsToken(home, credentials.metricsToken());
  const { fastify } = await import('fastify');
  const app = fastify({
    bodyLimit: BODY_BYTES,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200 },
    ...(tls === undefined ? {} : { https: { cert: readPem(tls.certFile), key: readPem(tls.keyFile) } }),
  }) as unknown as FastifyInstance;
  const scheme = tls === undefined ? 'http' : 'https';
  let port = options.port;
  const names = (LOOPBACK.has(host) ? [...LOOPBACK] : [host]).map(bracketed);
  const hosts = () => hostsOf(names, port, tls !== undefined);
  const origin = () => `${scheme}://${bracketed(host)}:${port}`;
  const link = () => `${origin()}/#token=${credentials.token()}`;
  const cookieName = () => `odin_${port}`;

  addGuard(app, { credentials, hosts, isTls: tls !== undefined, cookieName, now });
  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error: FastifyError | Error, _request, reply) => {
    const [status, message] = explain(error);
    if (status >= 500) onError(error);
    return reply.code(status).send({ error: show(message) });
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'There is nothing here.' }));

  const ws = workspaceId(odin.root, redis.scope);
  const everyMs = options.watchEveryMs;
  const metrics = await createMetrics({
    ...{ redis: redis.client, ws, rates: odin.rates, now },
    readTasks: () => tasks.read(),
  });
  const onEvent = (sid: string, entry: Journaled, bytes: number): void => {
    metrics.take(sid, entry, bytes);
    traces?.take(sid, entry);
  };
  const traces = openTraces(options.env ?? process.env, now, onError);
  // The bytes of theirs are not this project's journals'.
  const tasks = openTaskEvents({ redis: redis.client, home }, odin.root, (sid, entry) => onEvent(sid, entry, 0));
  // What is over now is known; who sends traces needs the rest without being asked.
  void tasks.read();
  const taskTimer = traces === null ? null : setInterval(() => void tasks.read(), TASKS_EVERY_MS).unref();
  const views = createViews(app);
  const watch = watchSessions({
    ...{ redis: redis.client, home, ws, rates: odin.rates, onEvent, seen: views.seen },
    isWanted: () => views.isWatched() || metrics.isRead() || traces !== null,
    ...(everyMs === undefined ? {} : { everyMs }),
  });
  const show = createShowSafely(process.env);
  const fleet = watchFleet(redis.client, odin.root, now);
  const feeds = createFeeds({
    odin,
    watch,
    credentials,
    show,
    figures: () => readFigures(redis.client, ws),
    fleet: () => fleet.read(),
  });
  const streams = createEventStreams(onError);

  addPageFiles(app);
  app.get('/health', { config: { access: 'open' } }, () => ({ ok: true }));
  app.post('/api/login', { config: { access: 'open' } }, (request, reply) => {
    const { token } = z.strictObject({ token: z.string().max(200) }).parse(request.body);
    const login = credentials.login(token, now());
    if (login === null) return reply.code(401).send({ error: USED_LINK });
    const secure = tls === undefined ? '' : '; Secure';
    const attributes = `; Path=/; HttpOnly; SameSite=Strict; Max-Age=${LOGIN_MS / 1000}${secure}`;
    void reply.header('set-cookie', `${cookieName()}=${login.cookie}${attributes}`);
    options.onLink(link());
    return { key: login.key };
  });
  app.get('/metrics', { config: { access: 'metrics' } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text(watch)),
  );
  app.get('/api/about', () => show({ root: odin.root, chart: agentChart() }));
  app.get<{ Querystring: { view?: string } }>('/api/events', (request, reply) => {
    const visitor = visitorOf(request);
    return streams.serve(request, reply, async (stream, lastId) => {
      const view = views.open(request.query.view ?? null);
      watch.wake();
      await feeds.overview(stream, lastId, visitor, view.isAway).finally(view.close);
    });
  });
  const access = addTasks(app, { redis: redis.client, home, root: odin.root, ws, show });
  // Everything of one session: it must be one of this project, or of a task of its batches.
  app.addHook('preHandler', async (request, reply) => {
    const { sid } = request.params as Partial<SessionParams>;
    if (sid === undefined || (await access.allows(request, sid))) return;
    await reply.code(404).send({ error: 'There is no such session in this project.' });
  });
  app.get<{ Params: SessionParams }>('/api/sessions/:sid/events', (request, reply) =>
    streams.serve(request, reply, (stream, lastId) => feeds.timeline(stream, lastId, request.params.sid)),
  );
  app.get<{ Params: SessionParams }>('/api/sessions/:sid/files', async (request) =>
    show((await access.taskFiles(request)) ?? (await odin.diff(request.params.sid))),
  );
  app.get<{ Params: SessionParams }>('/api/sessions/:sid/queue', async ({ params }) =>
    show(await odin.queued(params.sid)),
  );
  addBatchResults(app, { redis: redis.client, root: odin.root, show });
  addActions(app, { odin, watch, credentials, show, now });

  const closeBoard = addBoard(app, {
    queues: async () => {
      const { openQueues } = await import('../orchestrator/watch/open-queues.ts');
      return openQueues(redis, ws, odin.root);
    },
    show,
    allowActions: options.allowQueueActions ?? false,
    bodyLimit: BODY_BYTES,
    onError,
  });

  const close = async (): Promise<void> => {
    streams.close();
    await watch.close();
    if (taskTimer !== null) clearInterval(taskTimer);
    if (traces !== null) await tasks.read();
    await traces?.close();
    await app.close();
    await closeBoard();
  };
  try {
    await app.listen({ host, port: options.port });
  } catch (error) {
    await close();
    throw new UserError(whyNot(error as NodeJS.ErrnoException, host, port), 1);
  }
  const address = app.server.address();
  if (typeof address === 'object' && address !== null) port = address.port;
  return { origin: origin(), link, metricsTokenFile, close };
}

const USED_LINK = 'This link has been used, or is of an older start. `odin dashboard` prints the one that works.';

function insistOnSafePlace(host: string, isTls: boolean): void {
  if (/^(?:0\.0\.0\.0|::|\*|)$/.test(host)) {
    throw new UserError(
      'Say by which name or address it is reached, for example --host odin.example.org. Any name is too many.',
    );
  }
  if (LOOPBACK.has(host) || isTls) return;
  throw new UserError(
    `On ${host} others could read along: give --tls-cert and --tls-key, or stay on 127.0.0.1 and use \`ssh -L\` with the same port.`,
  );
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UserError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`, 1);
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function explain(error: FastifyError | Error): readonly [status: number, message: string] {
  if (error instanceof UserError) return [409, error.message];
  if (error instanceof z.ZodError) return [400, z.prettifyError(error)];
  const status = 'statusCode' in error && error.statusCode !== undefined ? error.statusCode : 500;
  return status < 500
    ? [status, error.message]
    : [500, 'Something went wrong that should not. The terminal says more.'];
}

function whyNot(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} of ${host} is taken: is a dashboard open already? Take another with --port.`;
  if (error.code === 'EACCES') return `Port ${port} may not be used by you. Take one above 1023 with --port.`;
  return `The dashboard cannot listen on ${host}, port ${port} (${error.code ?? error.message}).`;
}
