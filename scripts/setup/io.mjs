// How the set-up talks and how it runs other programs: their output is kept back and shown only when they fail.

import { spawn } from 'node:child_process';

const HEARTBEAT_MS = 15_000;
const TAIL_CHARS = 4000;

/** What went wrong and what to do about it, for the person who started the set-up. */
export class SetUpError extends Error {}

/** @param {string} line */
export function say(line) {
  process.stderr.write(`odin: ${line}\n`);
}

/**
 * Runs a program without a terminal. Never rejects: `tail` is the end of what it wrote, or why it did not start.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<{ ok: boolean, tail: string }>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let tail = '';
    const keep = (/** @type {string} */ chunk) => {
      tail = (tail + chunk).slice(-TAIL_CHARS);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    const stop = (/** @type {NodeJS.Signals} */ signal) => {
      child.kill(signal);
      process.exit(130);
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    const end = (/** @type {boolean} */ ok, /** @type {string} */ text) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve({ ok, tail: text.trim() });
    };
    child.once('error', (error) => end(false, error.message));
    child.once('close', (code) => end(code === 0, tail));
  });
}

/**
 * Announces a step that takes a while, and says every now and then that it still runs.
 * @param {string} what
 * @param {() => Promise<{ ok: boolean, tail: string }>} step
 */
export async function announce(what, step) {
  const start = Date.now();
  const seconds = () => Math.round((Date.now() - start) / 1000);
  say(`${what} …`);
  const timer = setInterval(() => say(`${what} … still at it after ${seconds()} s`), HEARTBEAT_MS);
  try {
    const result = await step();
    if (result.ok) say(`${what}: done in ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
