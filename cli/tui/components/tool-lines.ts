// A tool call: one line that says what it does and what came of it, the last live lines while it runs, a change as a diff. Opened, all of
// its output.

import { cleanLine } from '../../../shared/clean-text.ts';
import { describeCall } from '../../describe-call.ts';
import { describeResult } from '../../describe-result.ts';
import type { Theme } from '../theme.ts';
import type { ToolItem } from '../view.ts';
import { changeOf, diffLines } from './diff-lines.ts';
import { cutLines, guard, wrapped } from './lines.ts';

const MAX_DIFF = 14;
const MAX_TAIL = 4;
const MAX_OPEN = 400;
const MAX_WORDS = 160;

export function toolLines(tool: ToolItem, theme: Theme, width: number, isOpen: boolean): readonly string[] {
  const margin = `    ${theme.dim('│')} `;
  const change = tool.status === 'running' || tool.status === 'ok' ? changeOf(tool.tool, tool.args) : null;
  const lines = [guard(`  ${headOf(tool, theme)}`, width)];
  if (change !== null && change.length > 0) {
    lines.push(
      ...(isOpen
        ? diffLines(change, theme, width, margin, MAX_OPEN, '/diff shows all')
        : diffLines(change, theme, width, margin, MAX_DIFF)),
    );
  }
  if (tool.status === 'running') {
    lines.push(...tool.progress.flatMap((line) => cutLines(line, width, margin, theme.dim)));
  } else if (isOpen) {
    const text = tool.text.trimEnd().split('\n');
    lines.push(...wrapped(text.slice(0, MAX_OPEN).join('\n'), width, margin, theme.dim));
    if (text.length > MAX_OPEN) lines.push(`${margin}${theme.dim(`… ${text.length - MAX_OPEN} more lines`)}`);
  } else if (tool.tool === 'ExecuteCommand') {
    lines.push(...tail(tool.text, theme, width, margin));
  }
  return lines;
}

/** `✓ Grep "retry" in src → 12 matches (20 ms)`. */
function headOf(tool: ToolItem, theme: Theme): string {
  const title = describeCall(tool.tool, tool.args);
  const call = title.startsWith(tool.tool) ? theme.bold(tool.tool) + title.slice(tool.tool.length) : title;
  if (tool.status === 'running') return `${theme.accent('●')} ${call}`;
  const isGood = tool.status === 'ok';
  const result = cleanLine(resultOf(tool), MAX_WORDS);
  const mark = isGood ? theme.good('✓') : tool.status === 'cancelled' ? theme.dim('–') : theme.bad('✗');
  const why = isGood ? '' : `${tool.status}: `;
  return `${mark} ${call} ${theme.dim('→')} ${why}${result} ${theme.dim(`(${duration(tool.durationMs)})`)}`;
}

/** The call's own words stand before it: what repeats the path or the command is left out. */
function resultOf({ tool, description }: ToolItem): string {
  const short = describeResult(description);
  const change = /^(Created|Edited|Wrote|Changed) .* (\([^()]+\))$/.exec(short);
  if (change !== null) return `${change[1]?.toLowerCase()} ${change[2]}`;
  return tool === 'ExecuteCommand' ? (/^(Ran|Started|Exit \d+)\b/.exec(short)?.[1]?.toLowerCase() ?? short) : short;
}

function tail(text: string, theme: Theme, width: number, margin: string): string[] {
  const lines = text.trimEnd().split('\n');
  const hidden = lines.length - MAX_TAIL;
  const more = hidden > 0 ? [`${margin}${theme.dim(`… ${hidden} lines above (Ctrl-O)`)}`] : [];
  return [...more, ...lines.slice(-MAX_TAIL).flatMap((line) => cutLines(line, width, margin, theme.dim))];
}

export const duration = (ms: number): string =>
  ms < 1_000 ? `${Math.max(0, Math.round(ms))} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : minutes(ms);

const minutes = (ms: number): string => `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
