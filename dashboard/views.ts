// What the pages that are open show at this moment: the rows that are in sight, as each page says itself. The watch reads these first; a page
// that says nothing, or lies, gets no more than another one does.

import type { FastifyInstance } from 'fastify';
import * as z from 'zod';

export interface Views {
  /** A page's stream begins; `isAway()` is whether nobody looks at it. Returns what ends it. */
  open(view: string | null): { isAway(): boolean; close(): void };
  /** Sessions in sight on any page. */
  seen(): Iterable<string>;
  /** Whether a page was open in the last seconds. */
  isWatched(): boolean;
}

/** Rows of a page that is as high as any. */
const MOST_ROWS = 100;
/** A page that comes again after a break goes on as if it had not been away. */
const LINGER_MS = 10_000;

const idSchema = z.string().regex(/^[0-9A-Z]{26}$/);
const sightSchema = z.strictObject({ view: idSchema, sids: z.array(idSchema).max(MOST_ROWS), away: z.boolean() });

export function createViews(app: FastifyInstance): Views {
  const views = new Map<string, { streams: number; sids: readonly string[]; isAway: boolean }>();
  let open = 0;
  let leftAt = Number.NEGATIVE_INFINITY;

  // It changes nothing but the order of reading: it counts as reading does.
  app.post('/api/view', { config: { isReading: true } }, ({ body }) => {
    const { view, sids, away } = sightSchema.parse(body);
    const known = views.get(view);
    if (known) views.set(view, { ...known, sids, isAway: away });
    return {};
  });

  return {
    open(asked) {
      const view = idSchema.safeParse(asked).data ?? null;
      open += 1;
      if (view !== null) {
        const known = views.get(view) ?? { streams: 0, sids: [], isAway: false };
        views.set(view, { ...known, streams: known.streams + 1 });
      }
      return {
        isAway: () => view !== null && views.get(view)?.isAway === true,
        close() {
          open -= 1;
          leftAt = performance.now();
          const known = view === null ? undefined : views.get(view);
          if (view === null || known === undefined) return;
          if (known.streams > 1) views.set(view, { ...known, streams: known.streams - 1 });
          else views.delete(view);
        },
      };
    },
    *seen() {
      for (const { sids, isAway } of views.values()) if (!isAway) yield* sids;
    },
    isWatched: () => open > 0 || performance.now() - leftAt < LINGER_MS,
  };
}
