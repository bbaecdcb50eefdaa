// What only the process that runs a workspace knows of itself and no journal tells: how long its event loop makes others wait, what its
// file cache and its locks do, its memory. It writes them down every few seconds, one short command that expires; whoever shows figures
// reads them. Nothing waits for it and nothing depends on it.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as z from 'zod';
import type { Files } from '../files/files.ts';
import { keys } from '../keys.ts';
import type { OdinRedis } from '../redis.ts';

const counterSchema = z.number().min(0);
const figuresSchema = z.object({
  pid: z.int(),
  at: z.number(),
  /** Of the last few seconds. */
  lagMs: z.object({ p50: counterSchema, p99: counterSchema, max: counterSchema }),
  rssBytes: counterSchema,
  cache: z.object({
    entries: counterSchema,
    bytes: counterSchema,
    hits: counterSchema,
    segmentHits: counterSchema,
    misses: counterSchema,
    evictions: counterSchema,
    rehashes: counterSchema,
    refreshes: counterSchema,
  }),
  locks: z.object({ waits: counterSchema, waitedMs: counterSchema }),
});

export type Figures = z.infer<typeof figuresSchema>;

export interface FiguresPublisher {
  stop(): void;
}

const EVERY_MS = 5_000;
const EXPIRE_MS = 20_000;
const RESOLUTION_MS = 20;

export function publishFigures(
  {
    redis,
    ws,
    files,
  }: { readonly redis: OdinRedis; readonly ws: string; readonly files: Pick<Files, 'cache' | 'locks'> },
  everyMs = EVERY_MS,
): FiguresPublisher {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  lag.enable();
  const write = (): void => {
    // With Redis away it would wait in line, and be old when it came.
    if (redis.status !== 'ready') return;
    const figures: Figures = {
      pid: process.pid,
      at: Date.now(),
      lagMs: { p50: over(lag.percentile(50)), p99: over(lag.percentile(99)), max: over(lag.max) },
      rssBytes: process.memoryUsage.rss(),
      cache: files.cache.stats(),
      locks: files.locks.waited(),
    };
    lag.reset();
    redis.set(keys.workspace(ws).figures, JSON.stringify(figures), 'PX', EXPIRE_MS).catch(() => {});
  };
  const timer = setInterval(write, everyMs).unref();
  return {
    stop() {
      clearInterval(timer);
      lag.disable();
    },
  };
}

/** Null: nobody runs the workspace, or has told lately. */
export async function readFigures(redis: OdinRedis, ws: string): Promise<Figures | null> {
  const text = await redis.get(keys.workspace(ws).figures);
  try {
    return figuresSchema.parse(JSON.parse(text ?? 'null'));
  } catch {
    return null;
  }
}

/** Its timer counts its own period too. */
const over = (ns: number): number => (Number.isFinite(ns) ? Math.max(0, ns / 1e6 - RESOLUTION_MS) : 0);
