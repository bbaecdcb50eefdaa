// Reads a scripted turn out of a conversation that a dialect has reduced to entries.

import type { ScriptedToolResult, ScriptedTurn } from './script.ts';

export type ConversationEntry =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string }
  | { readonly role: 'call'; readonly callId: string; readonly name: string }
  | { readonly role: 'result'; readonly callId: string; readonly text: string };

/**
 * A user entry right behind tool results is not a message of the user: Odin appends its volatile facts there.
 */
export function readConversation(
  system: string,
  toolNames: readonly string[],
  entries: readonly ConversationEntry[],
): Omit<ScriptedTurn, 'api' | 'requestIndex' | 'model' | 'body'> {
  const names = new Map<string, string>();
  const texts: string[] = [];
  let results: ScriptedToolResult[] = [];
  let userText = '';
  let stepOfMessage = 0;
  let before: ConversationEntry['role'] | undefined;
  for (const entry of entries) {
    switch (entry.role) {
      case 'user':
        texts.push(entry.text);
        if (before === 'result') break;
        userText = entry.text;
        stepOfMessage = 0;
        results = [];
        break;
      case 'assistant':
      case 'call':
        if (entry.role === 'call') names.set(entry.callId, entry.name);
        else texts.push(entry.text);
        if (before !== 'assistant' && before !== 'call') stepOfMessage += 1;
        results = [];
        break;
      case 'result': {
        const name = names.get(entry.callId);
        results.push({ callId: entry.callId, text: entry.text, ...(name === undefined ? {} : { name }) });
        texts.push(entry.text);
        break;
      }
    }
    before = entry.role;
  }
  return { system, toolNames, messagesText: texts.join('\n'), userText, lastToolResults: results, stepOfMessage };
}
