// May a file tool touch this path (SPEC O23, SAFETY R4, R9, 2.2)? Pure: judges a path that was resolved already. The answer is a
// Gate of shared/define-tool.ts without its `args`; whether a question can be put to somebody is the permission port's.

import { homedir } from 'node:os';
import { dirname } from 'node:path';
import type { QuestionPath } from '../shared/events.ts';
import type { ResolvedPath } from '../shared/files-port.ts';
import type { Mode } from '../shared/modes.ts';
import { isControlPath, isSecretFile, isSteeringPath } from './protected-paths.ts';

export type PathGate =
  | { readonly verdict: 'allow' }
  | {
      readonly verdict: 'ask';
      readonly title: string;
      readonly reasons: readonly string[];
      readonly detail: string;
      readonly paths: readonly QuestionPath[];
    }
  | { readonly verdict: 'deny'; readonly code: string; readonly message: string };

/**
 * The gate of one access. In ask and plan mode a secret file is not read at all (SAFETY 2.2: protected → deny); outside paths
 * may be read there after a question.
 */
export function pathGate(
  access: 'read' | 'write',
  resolved: ResolvedPath,
  root: string,
  mode: Mode = 'edit',
): PathGate {
  const { real, inside } = resolved;
  if (resolved.kind === 'other') {
    return deny('not_a_file', `${real} is a device, pipe or socket, not a file. Only files and folders can be used.`);
  }
  const parts = (inside ? real.slice(root.length) : real).split('/').filter((part) => part !== '');
  if (isControlPath(parts) && (access === 'write' || !inside)) {
    return deny(
      'protected',
      `${real} belongs to Odin itself (odinconfig.json, .odin/) and is never changed by a tool. ` +
        'Tell the user what to change there; do not look for another way.',
    );
  }
  const reasons: string[] = [];
  if (!inside) reasons.push(`outside the project ${root}`);
  if (resolved.kind !== 'directory' && isSecretFile(parts.at(-1) ?? '')) reasons.push('may hold passwords or keys');
  else if (access === 'write' && isSteeringPath(parts)) reasons.push('steers Odin, git, an editor or a shell');
  if (reasons.length === 0) return { verdict: 'allow' };

  const secretOrWrite = access === 'write' || reasons.some((reason) => reason.startsWith('may hold'));
  if (mode !== 'edit' && secretOrWrite) {
    return deny('mode', `${real} ${reasons.join(' and ')}: not available in ${mode} mode. Go on without it.`);
  }
  const path = { path: real, outside: !inside, why: reasons.join(' and '), access };
  const under = inside || secretOrSteering(access, parts) ? real : coveredFolder(resolved, root);
  const title = `${access === 'read' ? 'Read' : 'Write'} ${real}?`;
  return { verdict: 'ask', title, reasons, detail: real, paths: [{ ...path, under }] };
}

/** What an answer for the session may cover: the folder, unless the project or the home folder lies in it. */
function coveredFolder({ real, kind }: ResolvedPath, root: string): string {
  const folder = kind === 'directory' ? real : dirname(real);
  const holds = (path: string) => path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
  return holds(root) || holds(homedir()) ? real : folder;
}

const secretOrSteering = (access: 'read' | 'write', parts: readonly string[]): boolean =>
  isSecretFile(parts.at(-1) ?? '') || (access === 'write' && isSteeringPath(parts));

const deny = (code: string, message: string): PathGate => ({ verdict: 'deny', code, message });
