// The words of an agent's model as they come, for whoever watches (SPEC O25): gathered, and said a few times a second, the less often the more
// agents of this thread speak. For the eye alone: what is not said before the whole answer is recorded is not said at all.

import type { LiveEvent } from '../shared/events.ts';
import type { LivePort } from '../shared/ports.ts';

export interface Deltas extends LivePort {
  /** What is gathered is said no more. */
  drop(): void;
}

const LEAST_MS = 100;
/** How many words a second all agents of a thread say together, about. */
const MOST_A_SECOND = 500;
const MAX_CHARS = 100_000;

/** Those of this thread that have something to say. */
let speaking = 0;

export function gatherDeltas(say: (events: readonly LiveEvent[]) => void): Deltas {
  let gathered: LiveEvent[] = [];
  let chars = 0;
  let timer: NodeJS.Timeout | null = null;

  const take = (): readonly LiveEvent[] => {
    const events = gathered;
    gathered = [];
    chars = 0;
    if (timer !== null) {
      clearTimeout(timer);
      timer = null;
      speaking -= 1;
    }
    return events;
  };

  return {
    publish(event) {
      if ((event.type !== 'text' && event.type !== 'thinking') || chars > MAX_CHARS) return;
      chars += event.delta.length;
      const last = gathered.at(-1);
      if (last?.type === event.type && last.op === event.op) {
        gathered[gathered.length - 1] = { ...event, delta: last.delta + event.delta };
      } else gathered.push(event);
      if (timer !== null) return;
      speaking += 1;
      timer = setTimeout(() => say(take()), Math.max(LEAST_MS, (speaking * 1_000) / MOST_A_SECOND));
    },
    drop: () => void take(),
  };
}
