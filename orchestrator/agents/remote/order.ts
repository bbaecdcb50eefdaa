// What a worker is asked to do for a subagent (SPEC O19, SAFETY 6), what it says back, and the form of both. The job in the queue names the
// order and its hash and nothing else; what the two say to each other through Redis is sealed with the key of the jobs.

import * as z from 'zod';
import { END_KINDS } from '../../../shared/agents.ts';
import { sha256 } from '../../../shared/ids.ts';
import { MODES } from '../../../shared/modes.ts';
import { canonical } from '../../jobs/sign-job.ts';
import type { Access } from '../../jobs/workers.ts';

const hex = /^[0-9a-f]{64}$/;
export const QUESTION_ID = /^[0-9a-f]{16}$/;
const RID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,120}$/;

export const agentJobSchema = z.strictObject({ rid: z.string().regex(RID), hash: z.string().regex(hex) });
export type AgentJob = z.infer<typeof agentJobSchema>;

export const orderSchema = z.strictObject({
  rid: z.string().regex(RID),
  title: z.string(),
  mode: z.enum(MODES),
  prompt: z.string(),
  /** What it is told to be, before the task. */
  role: z.string(),
  tools: z.array(z.string()),
  model: z.string(),
  fallbackModels: z.array(z.string()),
  limits: z.strictObject({
    maxSteps: z.int().positive(),
    usd: z.number().positive().optional(),
    tokens: z.int().positive().optional(),
    timeoutMs: z.int().positive().optional(),
  }),
  /** Each call of its model waits for its parent's word: they spend from one budget. */
  metered: z.boolean(),
  /** The project's root, a real path on the machine of the parent. */
  root: z.string(),
  base: z.string().regex(/^[0-9a-f]{40,64}$/),
  /** Of the patch that makes the commit what the parent's working copy was; null: it was the commit. */
  patch: z.string().regex(hex).nullable(),
});

/** Who wants what; a job holds its hash, so that nobody without the key can change it. */
export type RemoteOrder = z.infer<typeof orderSchema>;

export const orderHash = (order: RemoteOrder): string => sha256(canonical(order));

export const accessOfMode = (mode: RemoteOrder['mode']): Access => (mode === 'edit' ? 'edit' : 'read');

/** What a worker writes to the agent's stream. */
export const entrySchema = z.discriminatedUnion('k', [
  /** A working copy is made, and the agent begins there; what an earlier one did counts no more. */
  z.strictObject({ k: z.literal('placed'), worker: z.string().max(200) }),
  /** An event of its journal. */
  z.strictObject({ k: z.literal('ev'), event: z.looseObject({ type: z.string() }) }),
  z.strictObject({
    k: z.literal('end'),
    end: z.enum(END_KINDS),
    limit: z.enum(['usd', 'tokens', 'time', 'steps']).nullable(),
    answer: z.string(),
    failure: z.looseObject({ kind: z.string(), code: z.string(), message: z.string() }).nullable(),
    steps: z.int().min(0),
    /** Of its patch; null: it changed nothing. */
    patch: z.string().regex(hex).nullable(),
    /** The worker could not begin at all: somebody else may. */
    unable: z.boolean(),
  }),
]);

export type RemoteEntry = z.infer<typeof entrySchema>;
export type RemoteEnd = Extract<RemoteEntry, { readonly k: 'end' }>;

/** Place of an end behind all that was said or may have been. */
export const AFTER_ALL = 1_000_000_000;

/** What the parent says to the worker. */
export const wordSchema = z.discriminatedUnion('k', [
  z.strictObject({ k: z.literal('cancel'), by: z.string() }),
  z.strictObject({ k: z.literal('say'), text: z.string().max(20_000), by: z.string() }),
  /** To a question of the agent's. Never for more than this once: what holds for longer is the parent's to know. */
  z.strictObject({
    k: z.literal('answer'),
    question: z.string().regex(QUESTION_ID),
    decision: z.enum(['allow', 'deny']),
    by: z.string().max(200),
    word: z.string().max(20_000).optional(),
  }),
  /** A call of the model may be made, where the agent is placed for the so-manieth time: one that begins it anew asks anew. */
  z.strictObject({
    k: z.literal('go'),
    placed: z.int().min(0),
    op: z.string().max(50),
    attempt: z.int().positive(),
    maxOutputTokens: z.int().positive(),
  }),
]);

export type RemoteWord = z.infer<typeof wordSchema>;
