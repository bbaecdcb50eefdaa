// What a visitor may change: send, cancel, edit the queue, answer. Each is a POST with a small JSON body, does what the command of the
// same name does, and says in one line why not when it cannot.

import type { FastifyInstance, FastifyReply } from 'fastify';
import * as z from 'zod';
import type { Odin } from '../orchestrator/api.ts';
import type { SessionWatch } from '../orchestrator/watch/session-watch.ts';
import { MODES } from '../shared/modes.ts';
import { UserError } from '../shared/outcome.ts';
import type { Credentials } from './credentials.ts';
import { visitorOf } from './guard.ts';
import type { ShowSafely } from './show-safely.ts';

const BY = 'odin dashboard';

const modeSchema = z.enum(MODES);
const textSchema = z
  .string()
  .max(200_000)
  .refine((text) => text.trim() !== '', 'it is empty');
const sendSchema = z.strictObject({ mode: modeSchema, body: textSchema, mid: z.string().regex(/^[0-9A-Z]{26}$/) });
const editSchema = z.strictObject({ mode: modeSchema.exactOptional(), body: textSchema.exactOptional() });
const answerSchema = z.strictObject({
  nonce: z.string().max(200),
  decision: z.enum(['allow', 'allow_session', 'allow_always', 'deny']),
  word: z.string().max(2_000).exactOptional(),
});
const nothingSchema = z.strictObject({});
const seqSchema = z.coerce.number().int().positive();

export interface SessionParams {
  readonly sid: string;
}

export function addActions(
  app: FastifyInstance,
  deps: {
    readonly odin: Pick<Odin, 'newSession' | 'submit' | 'cancel' | 'answer' | 'removeQueued' | 'editQueued' | 'served'>;
    readonly watch: SessionWatch;
    readonly credentials: Credentials;
    readonly show: ShowSafely;
    now(): number;
  },
): void {
  const { odin, watch, credentials, show } = deps;

  const sent = async (sid: string, body: unknown) => {
    const { seq, position } = await odin.submit(sid, sendSchema.parse(body));
    return { sid, seq, position, served: await odin.served() };
  };

  app.post('/api/sessions', ({ body }) => sent(odin.newSession(), body));
  app.post<{ Params: SessionParams }>('/api/sessions/:sid/send', ({ params, body }) => sent(params.sid, body));
  app.post<{ Params: SessionParams }>('/api/sessions/:sid/cancel', async ({ params, body }) => {
    nothingSchema.parse(body);
    return { asked: await odin.cancel(params.sid, BY) };
  });
  app.post<{ Params: SessionParams & { seq: string } }>('/api/sessions/:sid/queue/:seq/remove', async (request) => {
    nothingSchema.parse(request.body);
    await odin.removeQueued(request.params.sid, seqSchema.parse(request.params.seq));
    return {};
  });
  app.post<{ Params: SessionParams & { seq: string } }>('/api/sessions/:sid/queue/:seq/edit', async (request) => {
    await odin.editQueued(request.params.sid, seqSchema.parse(request.params.seq), editSchema.parse(request.body));
    return {};
  });
  app.post<{ Params: { id: string } }>('/api/questions/:id/answer', async (request, reply) => {
    const { nonce, decision, word } = answerSchema.parse(request.body);
    const question = watch.questions().find(({ id }) => id === request.params.id);
    if (!question) return gone(reply, 'This question is no longer open: it was answered, or its time is over.');
    if (!credentials.isNonceFor(visitorOf(request), question, nonce)) {
      return gone(reply, 'The question has changed since it was shown. Look at it again.');
    }
    if (word !== undefined && decision !== 'deny') throw new UserError('A word to the model goes with "deny" alone.');
    const given = word === undefined || word.trim() === '' ? {} : { word };
    const { title } = await odin.answer(question.id, decision, { by: BY, ...given });
    return show({ title, decision, served: await odin.served() });
  });
}

const gone = (reply: FastifyReply, error: string): FastifyReply => reply.code(409).send({ error });
