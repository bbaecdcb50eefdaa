// Tells the user once when work pauses because something outside is full or away, and once when it goes on, however many sessions
// wait for the same thing.

import { setTimeout as delay } from 'node:timers/promises';
import { type Blobs, DiskFull } from './blobs.ts';
import type { JournalWaits } from './journal-owner.ts';

export type OnPause = JournalWaits['onPause'];

export function createPauses(notice: (line: string) => void): OnPause {
  let told: string | null = null;
  return (line) => {
    if (line === told) return;
    told = line;
    notice(line ?? 'It goes on.');
  };
}

const PAUSE_MS = 1_000;

/** Keeps a payload, and waits for space when the disk is full: the journal's next event waits with it, and nothing is lost. */
export async function putPatiently(
  blobs: Blobs,
  text: string,
  { signal, onPause }: JournalWaits,
): ReturnType<Blobs['put']> {
  for (let paused = false; ; paused = true) {
    try {
      const ref = await blobs.put(text);
      if (paused) onPause(null);
      return ref;
    } catch (error) {
      if (!(error instanceof DiskFull) || signal.aborted) throw error;
      if (!paused) onPause(`${error.message.replace(/ and try again\.$/, '')}; what runs goes on by itself.`);
      await delay(PAUSE_MS, undefined, { ref: false, signal }).catch(() => {});
    }
  }
}
