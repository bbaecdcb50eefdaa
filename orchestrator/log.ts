// What happens inside, as JSON lines in $ODIN_HOME/logs/odin.log, for whoever looks for a fault: off unless ODIN_LOG is set.
// No prompts and no file contents go here, and everything is scrubbed of secrets (SAFETY 6): pino's own redaction knows only paths.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Scrub, scrubJson } from '../shared/scrub.ts';

export type Log = (message: string, detail: Readonly<Record<string, unknown>>) => void;

export interface LogFile {
  readonly log: Log;
  /** Resolves when everything said so far is written. */
  flushed(): Promise<void>;
}

/** The log of a process, or one that drops everything. pino is loaded with the first line. */
export function openLog(home: string, isOn: boolean, scrub: Scrub): LogFile {
  let logger: Promise<Logger> | undefined;
  let last: Promise<void> = Promise.resolve();
  return {
    log(message, detail) {
      if (!isOn) return;
      logger ??= openLogger(home);
      // A log that cannot be written must not stop what it tells of.
      last = logger.then((open) => open.info(scrubJson(detail, scrub), scrub(message))).catch(() => {});
    },
    flushed: () => last,
  };
}

async function openLogger(home: string): Promise<Logger> {
  const { pino } = await import('pino');
  const folder = join(home, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const destination = pino.destination({ dest: join(folder, 'odin.log'), mode: 0o600, append: true, sync: true });
  return pino({ base: { pid: process.pid } }, destination);
}
