// Events of old journals in the shape of today's (DURABILITY 13). An entry says the version that it was written in; every step
// of UPCASTS lifts an event from one version to the next, so that readers and folds know the newest shape alone. A step never
// changes what an event means. Journals are never rewritten: what was written stays, and is lifted whenever it is read.

import { JOURNAL_VERSION, type JournalEvent } from '../shared/events.ts';
import type { JsonObject } from '../shared/json.ts';
import { UserError } from '../shared/outcome.ts';

/** Lifts one event by one version; events of types that did not change come back as they are. */
export type Upcast = (event: JsonObject) => JsonObject;

/** The first lifts version 1 to 2. A change of an event's shape adds one, raises JOURNAL_VERSION and brings a golden journal. */
const UPCASTS: readonly Upcast[] = [];

export const upcast = createUpcast(UPCASTS, JOURNAL_VERSION);

/** `steps[0]` lifts version 1 to 2, and so on up to `newest`. */
export function createUpcast(
  steps: readonly Upcast[],
  newest: number,
): (event: JsonObject, version: number) => JournalEvent {
  return (event, version) => {
    if (version > newest) {
      throw new UserError(
        `This session was written by a newer Odin (journal version ${version}; this one reads up to ${newest}). Update Odin.`,
        1,
      );
    }
    // One of today's, the usual case, is not touched.
    const lifted = steps.slice(version - 1).reduce((old, step) => step(old), event);
    return lifted as unknown as JournalEvent;
  };
}
