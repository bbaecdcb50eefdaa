// What happens inside, as JSON lines in $ODIN_HOME/logs/odin.log, for whoever looks for a fault: off unless ODIN_LOG is set.
// No prompts and no file contents go here, and everything is scrubbed of secrets (SAFETY 6): pino's own redaction knows only paths.

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { type Scrub, scrubJson } from '../shared/scrub.ts';

export type Log = (message: string, detail: Readonly<Record<string, unknown>>) => void;

export interface LogFile {
  readonly log: Log;
  /** Resolves when everything said so far is written. */
  flushed(): Promise<void>;
}

/** The log of a process, or one that drops everything. What names an error is one; pino is loaded with the first line. */
export function openLog(home: string, isOn: boolean, scrub: Scrub): LogFile {
  let logger: Promise<Logger> | undefined;
  let last: Promise<void> = Promise.resolve();
  return {
    log(message, detail) {
      if (!isOn) return;
      logger ??= openLogger(home);
      // A log that cannot be written must not stop what it tells of.
      const level = 'error' in detail ? 'error' : 'info';
      last = logger.then((open) => open[level](scrubJson(detail, scrub), scrub(message))).catch(() => {});
    },
    flushed: () => last,
  };
}

/** Where `odin logs` reads. */
export const logPath = (home: string): string => join(home, 'logs', 'odin.log');

async function openLogger(home: string): Promise<Logger> {
  const { pino } = await import('pino');
  const dest = logPath(home);
  mkdirSync(dirname(dest), { recursive: true, mode: 0o700 });
  const destination = pino.destination({ dest, mode: 0o600, append: true, sync: true });
  return pino({ base: { pid: process.pid } }, destination);
}
