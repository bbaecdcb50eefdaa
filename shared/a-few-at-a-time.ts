// Work on many things of which only a few may be open at once: files, sessions in Redis.

/** What `work` made of each item, in their order. After one has failed none begins; what has begun is not waited for. */
export async function aFewAtATime<T, R>(
  atOnce: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const made: R[] = [];
  const left = items.entries();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) {
      if (failed) return;
      made[at] = await work(item).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return made;
}
