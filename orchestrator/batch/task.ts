// A task of a batch: as a person writes it, one a line (docs/batch.md), and as it is kept once it was checked.

import * as z from 'zod';
import { MODES } from '../../shared/modes.ts';

const count = (most: number) => z.int().min(1).max(most);

/** A task's name; files are named after it, so what comes from Redis is checked as well. */
export const taskId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"');

/** What a line may hold. Closed: an unknown key is an error. */
export const taskLineSchema = z.strictObject({
  id: taskId.optional(),
  prompt: z.string().trim().min(1, 'must not be empty').max(100_000),
  mode: z.enum(MODES).optional(),
  repo: z.string().min(1).optional(),
  base: z
    .string()
    .regex(/^[^-\s:][^\s:]{0,199}$/, 'must be a branch, a tag or a commit')
    .optional(),
  model: z
    .string()
    .regex(/^[^\s/]+\/\S+$/, 'must be a model as provider/name')
    .optional(),
  budget: z.strictObject({ usd: z.number().positive().optional(), tokens: count(1e12).optional() }).optional(),
  maxSteps: count(1000).optional(),
  timeout: z
    .union([z.int().min(1), z.string().regex(/^(\d+(\.\d+)?[smh])+$/)], {
      error: 'must be seconds, or a time such as "30s", "10m" or "1h30m"',
    })
    .optional(),
  priority: z.int().min(0).max(1000).optional(),
  depends_on: z.union([z.string(), z.array(z.string()).max(1000)]).optional(),
});

export type TaskLine = z.infer<typeof taskLineSchema>;

/** A task as it is kept in Redis. Jobs name it by its hash, so that it cannot be changed there without the key. */
export const taskSchema = z.strictObject({
  id: taskId,
  line: z.int().positive(),
  prompt: z.string(),
  mode: z.enum(MODES),
  /** The project's root, a real path on the machine that submitted it. */
  root: z.string(),
  /** The commit it begins from. */
  base: z.string().regex(/^[0-9a-f]{40,64}$/),
  model: z.string().optional(),
  limits: z.strictObject({
    maxSteps: z.int().positive().optional(),
    usd: z.number().positive().optional(),
    tokens: z.int().positive().optional(),
    timeoutMs: z.int().positive().optional(),
  }),
  priority: z.int().min(0).max(1000),
  /** Tasks that must be completed before. */
  needs: z.array(z.string()),
});

export type Task = z.infer<typeof taskSchema>;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Of seconds, or of "1h30m". */
export function timeoutMsOf(timeout: number | string): number {
  if (typeof timeout === 'number') return timeout * 1_000;
  const parts = [...timeout.matchAll(/(\d+(?:\.\d+)?)([smh])/g)];
  return Math.round(parts.reduce((sum, [, value = '', unit = '']) => sum + Number(value) * (UNIT_MS[unit] ?? 0), 0));
}
