// The difference of two texts as a unified diff, for people, for the model and for undo's refusal. What both have in common at
// their ends is taken away first, so that a small edit of a large file costs little. Loads the diff package when first used.

export interface LineDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

const CONTEXT = 3;
/** Beyond so many changed lines the whole window is shown as replaced: the exact answer would take too long. */
const MAX_EDIT_LENGTH = 2_000;
const MAX_DIFF_CHARS = 8_000;

/** Null: no file. */
export async function lineDiff(path: string, before: string | null, after: string | null): Promise<LineDiff> {
  const [old, now] = [before ?? '', after ?? ''];
  if (old === now) return { diff: '', added: 0, removed: 0 };
  const { structuredPatch } = await import('diff');
  const window = differingWindow(old, now);
  const options = { context: CONTEXT, maxEditLength: MAX_EDIT_LENGTH };
  const patch = structuredPatch('', '', window.old, window.now, '', '', options);
  const hunks = patch?.hunks ?? [replacedWhole(window)];
  const lines = [`--- ${before === null ? '/dev/null' : path}`, `+++ ${after === null ? '/dev/null' : path}`];
  let [added, removed] = [0, 0];
  for (const hunk of hunks) {
    const [oldStart, newStart] = [hunk.oldStart + window.skipped, hunk.newStart + window.skipped];
    lines.push(`@@ -${oldStart},${hunk.oldLines} +${newStart},${hunk.newLines} @@`, ...hunk.lines);
    for (const line of hunk.lines) {
      if (line.startsWith('+')) added++;
      else if (line.startsWith('-')) removed++;
    }
  }
  return { diff: capped(lines.join('\n')), added, removed };
}

interface Window {
  readonly old: string;
  readonly now: string;
  /** Lines before it. */
  readonly skipped: number;
}

/** The lines in which the texts differ, with enough around them for the context. */
function differingWindow(old: string, now: string): Window {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old.charCodeAt(head) === now.charCodeAt(head)) head++;
  let tail = 0;
  const last = most - head;
  while (tail < last && old.charCodeAt(old.length - 1 - tail) === now.charCodeAt(now.length - 1 - tail)) tail++;
  let start = head;
  for (let i = 0; i <= CONTEXT && start > 0; i++) start = old.lastIndexOf('\n', start - 1 - (i > 0 ? 1 : 0)) + 1;
  // Offsets from the ends, because there both texts are the same.
  let keep = tail;
  for (let i = 0; i <= CONTEXT && keep > 0; i++) {
    const end = old.indexOf('\n', old.length - keep);
    keep = end === -1 ? 0 : old.length - end - 1;
  }
  const skipped = old.slice(0, start).split('\n').length - 1;
  return { old: old.slice(start, old.length - keep), now: now.slice(start, now.length - keep), skipped };
}

function replacedWhole(window: Window) {
  const split = (text: string) => (text === '' ? [] : (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n'));
  const [old, now] = [split(window.old), split(window.now)];
  const lines = [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines };
}

function capped(diff: string): string {
  if (diff.length <= MAX_DIFF_CHARS) return diff;
  const end = diff.lastIndexOf('\n', MAX_DIFF_CHARS);
  const shown = diff.slice(0, end > 0 ? end : MAX_DIFF_CHARS);
  return `${shown}\n… (${diff.length - shown.length} more characters of this diff)`;
}
