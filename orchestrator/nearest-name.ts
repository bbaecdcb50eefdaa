// "Did you mean": the known name that is nearest to a mistyped one.

/** The one that goes on where `given` stops, else the nearest within a third of its length (one to three changes), or null. */
export function nearestName(given: string, names: readonly string[]): string | null {
  const longer = given.length < 3 ? [] : names.filter((name) => name.toLowerCase().startsWith(given.toLowerCase()));
  if (longer.length === 1) return longer[0] ?? null;
  const limit = Math.min(3, Math.max(1, Math.floor(given.length / 3)));
  const ranked = names
    .map((name) => ({ name, changes: changesBetween(given.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => a.changes - b.changes);
  const best = ranked[0];
  return best !== undefined && best.changes <= limit ? best.name : null;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function changesBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (beforeLast[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
