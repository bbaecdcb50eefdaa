// The sessions that somebody looks at, and the state of the agent machine of each: told when the looking begins, and when it changes.

import type { JournalEvent, Journaled } from '../../shared/events.ts';
import { isAfter } from '../journal-read.ts';
import type { CardFold } from './session-card.ts';
import { createStateFold, type StateFold } from './session-state.ts';

interface Look {
  readonly tell: Set<(state: string) => void>;
  fold: StateFold | null;
  told: string;
}

export interface SessionLooks {
  sids(): Iterable<string>;
  has(sid: string): boolean;
  /** Returns what ends it. */
  begin(sid: string, onState: (state: string) => void): () => void;
  /** Those whose journals are to be given to `read`. */
  unread(): readonly string[];
  /**
   * The journal from the start of its newest message on. What the card does not have yet is taken by the watch, unless `isWhole`: then
   * nothing else reads it, and the card takes it here.
   */
  read(sid: string, card: CardFold, journal: readonly Journaled[], isWhole: boolean): void;
  /** What is journaled from then on. */
  take(sid: string, event: JournalEvent): void;
  tell(sid: string): void;
  /** It has left Redis: what it did last is read elsewhere. */
  forget(sid: string): void;
}

export function createSessionLooks(): SessionLooks {
  const looks = new Map<string, Look>();
  const tell = (sid: string): void => {
    const look = looks.get(sid);
    const state = look?.fold?.state();
    if (look === undefined || state === undefined || state === look.told) return;
    look.told = state;
    for (const listener of look.tell) listener(state);
  };
  return {
    sids: () => looks.keys(),
    has: (sid) => looks.has(sid),
    begin(sid, onState) {
      const look: Look = looks.get(sid) ?? { tell: new Set(), fold: null, told: '' };
      looks.set(sid, look);
      look.tell.add(onState);
      if (look.told !== '') onState(look.told);
      return () => {
        look.tell.delete(onState);
        if (look.tell.size === 0 && looks.get(sid) === look) looks.delete(sid);
      };
    },
    unread: () => [...looks].flatMap(([sid, { fold }]) => (fold === null ? [sid] : [])),
    read(sid, card, journal, isWhole) {
      const look = looks.get(sid);
      if (look === undefined) return;
      const states = createStateFold();
      const upTo = card.upTo();
      for (const journaled of journal) {
        if (isAfter(journaled.id, upTo)) {
          if (!isWhole) break;
          card.take(journaled);
        }
        states.take(journaled.event);
      }
      look.fold = states;
      tell(sid);
    },
    take: (sid, event) => looks.get(sid)?.fold?.take(event),
    tell,
    forget(sid) {
      const look = looks.get(sid);
      if (look) look.fold = null;
    },
  };
}
