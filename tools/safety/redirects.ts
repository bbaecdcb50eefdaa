// Redirections (R5): what they read, write or connect to. Bodies of here-documents are text or substitutions, which walk.ts
// has visited already.

import { judgeVariableName } from './expansions.ts';
import { forbid, type Judge } from './judge.ts';
import type { Redirection } from './parse.ts';
import { judgePath } from './paths.ts';
import { type Scope, wordFacts } from './scope.ts';
import { assign } from './variables.ts';
import { type Field, fieldOf, isKnown } from './words.ts';

/** Judges the redirections of one command or compound. */
export function judgeRedirects(judge: Judge, redirects: readonly Redirection[], scope: Scope): void {
  for (const redirect of redirects) {
    if (redirect.descriptor?.type === 'FileDescriptorVariable') {
      judgeVariableName(judge, redirect.descriptor.name);
      assign(judge, redirect.descriptor.name, scope, 'plain');
    }
    if (redirect.type !== 'Redirect' || redirect.target === undefined) continue;
    const target = fieldOf(redirect.target, wordFacts(scope));
    judge.literal &&= target.literal;
    judgeTarget(judge, redirect.operator, target, scope);
  }
}

const DUPLICATES = /^(?:\d+-?|-)$/;
const NETWORK_DEVICE = /^\/+dev\/+(?:tcp|udp)(?:\/|$)/;

function judgeTarget(judge: Judge, operator: string, target: Field, scope: Scope): void {
  if (NETWORK_DEVICE.test(target.text.replace(/\/\.(?=\/)/g, ''))) {
    return forbid(judge, `${target.raw} opens a network connection from the shell. Use WebFetch.`);
  }
  const duplicates = operator === '<&' || operator === '>&';
  if (duplicates && DUPLICATES.test(target.text)) return;
  const reads = operator === '<' || operator === '<&';
  if (isKnown(target) && target.text === '' && !target.process) return;
  judgePath(judge, target, reads ? 'read' : 'write', scope);
  if (reads) return;
  // An entry of AllowedCommands names a command, never where its output goes.
  const findings = judge.part.findings;
  const last = findings.at(-1);
  if (last?.class === 'needs-approval-edit') findings[findings.length - 1] = { ...last, liftable: false };
}
