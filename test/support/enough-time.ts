// For tests in which a time limit is to run out in the middle of something. How long it takes to get there is the machine's affair.

const MORE = 4;

/** Tries with `firstMs`, then with more and more time, while `attempt` says undefined: it did not come as far as the test is about. */
export async function withEnoughTime<T>(firstMs: number, attempt: (ms: number) => Promise<T | undefined>): Promise<T> {
  for (let ms = firstMs; ; ms *= MORE) {
    const found = await attempt(ms);
    if (found !== undefined) return found;
  }
}
