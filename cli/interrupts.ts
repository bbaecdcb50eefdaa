// Ctrl-C and SIGTERM (SPEC E11): the first asks for a clean end, the second leaves at once.

import { EXIT } from './exit-codes.ts';

/** Calls `first` once; after that, the next signal ends the process. Returns what takes the listeners off again. */
export function onInterrupt(first: (signal: NodeJS.Signals) => void): () => void {
  let isSecond = false;
  const listener = (signal: NodeJS.Signals) => {
    if (isSecond) process.exit(EXIT.cancelled);
    isSecond = true;
    first(signal);
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return () => void process.off('SIGINT', listener).off('SIGTERM', listener);
}
