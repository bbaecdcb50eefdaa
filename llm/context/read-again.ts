// How the planner gets back what a compaction took from a tool's result.

/** Tools that only look: calling them again costs time, nothing else. */
const LOOKS: ReadonlySet<string> = new Set([
  ...['LS', 'Grep', 'Glob', 'ReadFile', 'WebFetch', 'CommandOutput', 'TodoWrite'],
]);

/** A sentence for the model, behind the note of what was cut. */
export const howToReadAgain = (tool: string): string =>
  LOOKS.has(tool)
    ? `Call ${tool} again with the same arguments if you need it.`
    : 'It was done: do not do it again only to read this.';
