// Whose words the model has read (SAFETY 2.3): a fold of the journal, so that neither a restart nor a summary of the conversation makes a
// session forget. What follows from it is decided by the rules for commands: none covers the network any more.

import { isAbsolute } from 'node:path';
import type { JournalEvent, Question } from '../shared/events.ts';
import type { Json } from '../shared/json.ts';

export interface Taint {
  /** A page, or whatever else another host has sent. */
  readonly web: boolean;
  /** Files outside of the project, and of the system. */
  readonly outside: boolean;
  /** Text of the project's folder. It counts for as long as the user has not accepted the folder. */
  readonly folder: boolean;
}

export const NO_TAINT: Taint = { web: false, outside: false, folder: false };

/** What these give back is from the project. */
const FROM_FOLDER: ReadonlySet<string> = new Set([
  ...['LS', 'Grep', 'Glob', 'ReadFile', 'ExecuteCommand', 'CommandOutput'],
  ...['WriteFile', 'EditTool', 'MultiEditTool', 'InitTool', 'AgentTool'],
]);
const FROM_WEB = /^(?:WebFetch|WebSearch|mcp__.*)$/;
/** Programs that print what another host has sent. What the others print of it, such as the progress of a push, is not taken for text. */
const PRINTS_REMOTE =
  /(?:^|[\s;&|(`/"'])(?:curl|wget|xh|https?|lynx|links|elinks|w3m|aria2c|nc|ncat|netcat|socat|telnet|ssh|gh|glab|hub)(?:$|[\s;&|)`"'])/;
const SYSTEM = /^\/(?:usr|etc|bin|sbin|lib\w*|opt|proc|sys)(?:\/|$)/;

/** The taint after one more event; `question` is the one that a `perm.answer` answers. */
export function foldTaint(taint: Taint, event: JournalEvent, question?: Question): Taint {
  switch (event.type) {
    case 'session.opened': {
      const own = event.instructionFiles?.some(({ path }) => !isAbsolute(path)) ?? event.instructions !== '';
      return own ? { ...taint, folder: true } : taint;
    }
    case 'tool.done':
      if (event.kind === 'invalid' || event.kind === 'refused') return taint;
      if (FROM_WEB.test(event.name)) return { ...taint, web: true };
      return FROM_FOLDER.has(event.name) && !taint.folder ? { ...taint, folder: true } : taint;
    case 'tool.intent':
      return fetches(event.intent) ? { ...taint, web: true } : taint;
    case 'perm.answer':
      return event.decision !== 'deny' && question?.paths?.some(isStrange) ? { ...taint, outside: true } : taint;
    default:
      return taint;
  }
}

/** Why no rule covers the network any more, in words that end a sentence; undefined when the session has read nobody else's words. */
export function whyTainted({ web, outside, folder }: Taint, isFolderTrusted: () => boolean): string | undefined {
  if (web) return 'this session has read text from the network, whose author could want it';
  if (outside) return 'this session has read files outside of the project, whose author could want it';
  if (folder && !isFolderTrusted()) {
    return 'this session has read files of a folder that you have not trusted (odin trust), whose author could want it';
  }
  return undefined;
}

type AskedPath = NonNullable<Question['paths']>[number];

const isStrange = ({ path, outside, access }: AskedPath): boolean =>
  outside && access !== 'write' && !SYSTEM.test(path);

/** What is left of an intent that another machine has journaled: nothing that is to be finished here, but whose words were read. */
export const elsewhere = (intent: Json): Json => ({ kind: 'remote', fetched: fetches(intent) });

/** A command that was let out to the network to bring something back. */
function fetches(intent: Json): boolean {
  if (typeof intent !== 'object' || intent === null || Array.isArray(intent)) return false;
  const { kind, request, fetched } = intent as Readonly<Record<string, Json | undefined>>;
  if (kind === 'remote') return fetched === true;
  if (kind !== 'command' || typeof request !== 'object' || request === null || Array.isArray(request)) return false;
  const { command, network } = request as { readonly command?: Json; readonly network?: Json };
  return network === true && typeof command === 'string' && PRINTS_REMOTE.test(command);
}
