// One set-up at a time in a checkout. The holder touches the lock file while it works; a lock nobody touches any more belongs to
// a process that was killed and is taken over. (A process id would not do: containers hand out the same few again and again.)

import { closeSync, openSync, rmSync, statSync, utimesSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { say } from './io.mjs';

const TOUCH_MS = 1000;
const ABANDONED_MS = 10_000;

/**
 * @param {string} path
 * @param {() => Promise<void>} work
 */
export async function withLock(path, work) {
  let waiting = false;
  while (!take(path)) {
    if (!waiting) say('another process sets this folder up, waiting for it');
    waiting = true;
    await delay(200);
  }
  const release = () => rmSync(path, { force: true });
  const timer = setInterval(() => {
    const now = new Date();
    utimesSync(path, now, now);
  }, TOUCH_MS);
  process.once('exit', release);
  try {
    await work();
  } finally {
    clearInterval(timer);
    process.off('exit', release);
    release();
  }
}

/** @param {string} path */
function take(path) {
  try {
    closeSync(openSync(path, 'wx'));
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (touched !== undefined && Date.now() - touched > ABANDONED_MS) rmSync(path, { force: true });
  return false;
}
