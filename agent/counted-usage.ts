// What an answer has used (SPEC E16), when its provider counts and when it does not.

import { estimateText, type TokenMemory } from '../llm/context/token-estimate.ts';
import type { ModelAnswer, Usage } from '../shared/messages.ts';

/** An answer's usage as its provider counted it, or an estimate, marked as such, where it counts nothing. */
export function countedUsage(
  tokens: TokenMemory,
  answer: ModelAnswer,
  inputEstimate: number,
): { readonly usage: Usage; readonly estimated?: true } {
  const { usage, parts, model } = answer;
  if (usage.input > 0 && (usage.output > 0 || parts.length === 0)) return { usage };
  const said = parts.map((part) => (part.type === 'tool_call' ? part.name + part.rawArgs : part.text)).join('\n');
  const output = usage.output > 0 ? usage.output : estimateText(tokens, model, said);
  return { usage: { ...usage, input: usage.input > 0 ? usage.input : inputEstimate, output }, estimated: true };
}
