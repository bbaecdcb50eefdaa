// Runs the ripgrep that comes with Odin and hands over its output record by record. What the records mean is the caller's.
// The process is gone when the promise settles, however it ends; nothing is kept of records once they were handed over.

import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { cancelled, fail, type Outcome, ok } from '../shared/outcome.ts';

/** Hidden files are searched, version control's own folders are not; .gitignore counts with or without a repository. */
const ALWAYS = [
  '--no-config',
  '--color=never',
  '--hidden',
  '--no-require-git',
  '--no-ignore-messages',
  ...['.git', '.hg', '.svn', '.jj'].map((folder) => `--glob=!${folder}`),
];

const MAX_WARNINGS = 20;
const MAX_STDERR = 64 * 1024;
/** A record longer than this is dropped; ripgrep was told to cut lines long before. */
const MAX_RECORD = 256 * 1024;

export interface RipgrepRun {
  /** The folder to search; all paths are relative to it and start with `./`. */
  readonly cwd: string;
  readonly args: readonly string[];
  readonly separator: '\n' | '\0';
  readonly signal: AbortSignal;
  /** Gets each record without its separator; returns false to stop the search. */
  onRecord(record: string): boolean;
}

export interface RipgrepEnd {
  readonly stopped: boolean;
  /** Per file, what could not be read. */
  readonly warnings: readonly string[];
}

/** `invalid` when ripgrep refuses its arguments: the failure's message is its own. */
export async function ripgrep(run: RipgrepRun): Promise<Outcome<RipgrepEnd>> {
  const { rgPath } = await import('@vscode/ripgrep');
  if (run.signal.aborted) return cancelled();
  const child = spawn(rgPath, [...ALWAYS, ...run.args], { cwd: run.cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  run.signal.addEventListener('abort', kill, { once: true });
  const ended = Promise.withResolvers<number | Error | null>();
  child.once('error', ended.resolve);
  child.once('close', ended.resolve);

  let stopped = false;
  let stderr = '';
  const split = splitter(run.separator, (record) => {
    if (stopped || run.onRecord(record)) return;
    stopped = true;
    kill();
  });
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => split.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (stderr.length < MAX_STDERR) stderr += chunk;
  });
  const code = await ended.promise;
  run.signal.removeEventListener('abort', kill);
  if (run.signal.aborted) return cancelled();
  if (code instanceof Error) return notStarted(code, run.cwd);
  if (!stopped) split.end();
  return verdict(stopped ? 0 : code, stderr, split.seen, stopped);
}

/** A folder that may not be entered looks to whoever starts a program like one that cannot be run. */
async function notStarted({ message }: Error, cwd: string): Promise<Outcome<RipgrepEnd>> {
  const error = await access(cwd, constants.R_OK | constants.X_OK).then(
    () => null,
    ({ code }: NodeJS.ErrnoException) => code,
  );
  return error === null
    ? fail('failed', 'ripgrep_missing', `ripgrep did not start: ${message}.`)
    : fail('failed', 'not_searched', `${cwd} cannot be searched (${error}). Tell the user, or go on without it.`);
}

/** Exit code 2 means an error; errors of files begin with the file's path, which begins with `./` here. */
function verdict(code: number | null, stderr: string, records: number, stopped: boolean): Outcome<RipgrepEnd> {
  const warnings: string[] = [];
  let refusal = false;
  for (const line of stderr.split('\n')) {
    if (line.startsWith('rg: ./')) {
      if (warnings.length < MAX_WARNINGS) warnings.push(line.slice('rg: ./'.length));
    } else if (line.startsWith('rg: ')) refusal = true;
  }
  if (code === 2 && refusal && records === 0)
    return fail('invalid', 'bad_pattern', stderr.replaceAll('rg: ', '').trim());
  if (code !== 0 && code !== 1 && code !== 2) {
    return fail('failed', 'ripgrep_failed', `ripgrep ended with code ${code}. ${stderr.slice(0, 500)}`.trim());
  }
  return ok({ stopped, warnings });
}

interface Splitter {
  push(chunk: string): void;
  /** Hands over what came after the last separator. */
  end(): void;
  readonly seen: number;
}

function splitter(separator: string, onRecord: (record: string) => void): Splitter {
  let carry = '';
  let dropping = false;
  let seen = 0;
  const emit = (record: string) => {
    seen++;
    if (!dropping) onRecord(record);
    dropping = false;
  };
  return {
    get seen() {
      return seen;
    },
    push(chunk) {
      let from = 0;
      for (let end = chunk.indexOf(separator); end !== -1; end = chunk.indexOf(separator, from)) {
        emit(carry + chunk.slice(from, end));
        carry = '';
        from = end + 1;
      }
      carry += chunk.slice(from);
      if (carry.length <= MAX_RECORD) return;
      carry = '';
      dropping = true;
    },
    end() {
      if (carry !== '') emit(carry);
    },
  };
}
