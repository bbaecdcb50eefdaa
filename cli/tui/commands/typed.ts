// What is typed and is no slash command: a message, `!` for a command of the user's own, `#` for a line in ODIN.md. The user types them
// himself, so neither asks; what a command says is shown, and told to the model only when the user says it.

import { spawn } from 'node:child_process';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../../../shared/outcome.ts';
import type { Desk } from '../desk.ts';

const MAX_OUTPUT = 100_000;
const TIMEOUT_MS = 120_000;

/** In the folder that Odin was started in, with the user's own shell and environment, without a terminal. It does not outlive the interface. */
export async function runShell({ options, say, left }: Desk, command: string): Promise<void> {
  if (command === '') throw new UserError('type the command behind the !, as in !git status');
  const child = spawn(options.env['SHELL'] ?? '/bin/sh', ['-c', command], {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that all that it started is ended with it.
    detached: true,
  });
  const end = () => {
    if (child.pid !== undefined) endGroup(child.pid);
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  };
  const timer = setTimeout(end, TIMEOUT_MS);
  left.addEventListener('abort', end);
  let output = '';
  const keep = (chunk: Buffer) => {
    if (output.length < MAX_OUTPUT) output += chunk.toString('utf8');
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit ${code}` : `ended by ${signal}`));
  });
  clearTimeout(timer);
  left.removeEventListener('abort', end);
  say(`! ${command} (${ended})${output.trim() === '' ? '' : `\n${output.trimEnd()}`}`, 'table');
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // It has ended.
  }
}

/** At the end of the project's ODIN.md; a new session reads it. */
export async function remember({ odin, say }: Desk, line: string): Promise<void> {
  const text = line.replace(/\s+/g, ' ').trim();
  if (text === '') throw new UserError('type the line behind the #, as in #tests need a running Redis');
  const path = join(odin.root, 'ODIN.md');
  const before = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new UserError(`${path} cannot be read: ${error.message}`);
  });
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  await appendFile(path, `${gap}- ${text}\n`).catch((error: Error) => {
    throw new UserError(`${path} cannot be written: ${error.message}`);
  });
  say(`added to ODIN.md: ${text}. New sessions read it.`);
}

/** A message, with the pictures that it names. Its number; null when the interface is leaving. */
export async function sendMessage(desk: Desk, text: string): Promise<number | null> {
  if (!/\.(?:png|jpe?g|gif|webp)|\d×\d/i.test(text)) return await desk.submit(text);
  const { imagesIn } = await import('../../message-images.ts');
  const model = desk.models()?.model ?? '';
  const { images, problems } = await imagesIn(text, model, desk.options.cwd, desk.odin, desk.pictures);
  for (const problem of problems) desk.say(problem, 'warn');
  return await desk.submit(text, desk.mode(), images);
}
