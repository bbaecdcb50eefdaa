// `odin logs`: what Odin has written to its log file, for people or as it is. The file is only written while ODIN_LOG is set.

import { createReadStream, existsSync, mkdirSync, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import * as z from 'zod';
import { logPath } from '../../orchestrator/log.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { onInterrupt } from '../interrupts.ts';
import { outputGone } from '../output-gone.ts';
import { placeHere } from '../place.ts';

/** pino's numbers. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const;
type LogLevel = keyof typeof LEVELS;
const LOG_LEVELS = Object.keys(LEVELS) as readonly LogLevel[];

export interface LogsOptions {
  readonly follow?: boolean;
  readonly session?: string;
  readonly level: LogLevel;
  readonly json?: boolean;
}

const lineSchema = z.looseObject({ level: z.number(), time: z.number(), pid: z.number(), msg: z.string() });

export async function logs(options: LogsOptions): Promise<number> {
  const path = logPath(placeHere().home);
  if (!existsSync(path) && options.follow !== true) {
    process.stderr.write(`Nothing was logged. Set ODIN_LOG=1 where Odin runs; it then writes to ${path}.\n`);
    return EXIT.completed;
  }
  const leave = new AbortController();
  const offInterrupt = onInterrupt(() => leave.abort());
  const signal = AbortSignal.any([leave.signal, outputGone]);
  let read = 0;
  try {
    for await (const _ of options.follow === true ? changesOf(path, signal) : [null]) {
      if (existsSync(path)) read = await printFrom(path, read, options);
      if (signal.aborted) break;
    }
  } finally {
    offInterrupt();
  }
  return EXIT.completed;
}

/** Prints the whole lines from there on, and returns where the rest begins. A file that became shorter is another one. */
async function printFrom(path: string, from: number, options: LogsOptions): Promise<number> {
  const { size } = statSync(path);
  const start = size < from ? 0 : from;
  if (size === start) return start;
  let at = start;
  let rest = '';
  // By line feeds alone: readline also breaks at U+2028, which JSON leaves as it is.
  for await (const chunk of createReadStream(path, { start, end: size - 1, encoding: 'utf8' })) {
    const lines = `${rest}${chunk}`.split('\n');
    // The last one may not be whole yet.
    rest = lines.pop() ?? '';
    for (const line of lines) at += Buffer.byteLength(line) + 1;
    process.stdout.write(lines.map((line) => shownLine(line, options)).join(''));
  }
  return at;
}

function shownLine(line: string, { session, level, json }: LogsOptions): string {
  const parsed = parse(line);
  if (parsed === null || parsed.level < LEVELS[level]) return '';
  const { level: number, time, pid, msg, ...detail } = parsed;
  const sid = detail['sid'];
  if (session !== undefined && !(typeof sid === 'string' && sid.startsWith(session.toUpperCase()))) return '';
  if (json === true) return `${line}\n`;
  const name = LOG_LEVELS.findLast((one) => LEVELS[one] <= number) ?? 'debug';
  const rest = Object.keys(detail).length === 0 ? '' : ` ${JSON.stringify(detail)}`;
  return `${new Date(time).toISOString()} ${name.padEnd(5)} ${pid} ${cleanLine(`${msg}${rest}`)}\n`;
}

function parse(line: string): z.infer<typeof lineSchema> | null {
  try {
    return lineSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/** At once, then after every change of the file, until the signal aborts. */
async function* changesOf(path: string, signal: AbortSignal): AsyncGenerator<null> {
  let wake = () => {};
  let changed = true;
  const look = () => {
    changed = true;
    wake();
  };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path)) look();
  });
  signal.addEventListener('abort', look, { once: true });
  try {
    while (!signal.aborted) {
      if (!changed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      changed = false;
      yield null;
    }
  } finally {
    watcher.close();
  }
}
