// Who answers a run's questions: from its options, and from whether somebody sits at a terminal.

import type { PermissionPolicy } from '../orchestrator/api.ts';
import { UserError } from '../shared/outcome.ts';

export const PERMISSION_MODES = ['deny', 'ask', 'accept-edits'] as const;

export interface PermissionOptions {
  readonly permission?: PermissionPolicy['mode'];
  /** Seconds. */
  readonly permissionTimeout?: number;
  readonly allow?: readonly string[];
}

const DEFAULT_TIMEOUT_S = 600;

/** Somebody can be asked, and answers by a key. */
export const isTerminal = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Throws UserError for a rule that would allow everything. */
export async function permissionPolicy(options: PermissionOptions, terminal: boolean): Promise<PermissionPolicy> {
  const mode = options.permission ?? (terminal ? 'ask' : 'deny');
  if (options.permissionTimeout !== undefined && mode !== 'ask') {
    throw new UserError('--permission-timeout is for questions that wait: add --permission ask.');
  }
  const allow = options.allow ?? [];
  if (allow.length > 0) {
    const { tooWideRule } = await import('../orchestrator/permissions-rules.ts');
    const wide = allow.find(tooWideRule);
    if (wide !== undefined) throw new UserError(`--allow "${wide}" would allow every program. Say what it may run.`);
  }
  const seconds = options.permissionTimeout ?? (terminal ? null : DEFAULT_TIMEOUT_S);
  return { mode, timeoutMs: seconds === null ? null : seconds * 1000, allow };
}
