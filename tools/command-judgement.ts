// What decide() says about a command here and now, and what that means in this mode (SAFETY 2.2, 2.3): the facts are read
// from disk, and a fingerprint tells whether the same command would be judged the same a moment later.

import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ToolContext } from '../shared/define-tool.ts';
import type { CommandRequest, ExtraPath, SandboxStatus } from '../shared/exec-port.ts';
import type { Decision } from './safety/decision.ts';
import type { Facts } from './safety/facts.ts';
import type { Answer } from './safety/modes.ts';

export interface Judgement {
  readonly decision: Decision;
  readonly answer: Answer;
  readonly sandbox: SandboxStatus;
  readonly request: CommandRequest;
  /** The entry of AllowedCommands that "always" may offer, when this is asked about. */
  readonly rule: string | undefined;
  /** Equal for equal text, folder, real paths, mode and outcome. What was allowed holds for this alone. */
  readonly fingerprint: string;
}

/** Judges the command with the facts of this moment. The parser loads on first use. */
export async function judgeCommand(command: string, timeoutMs: number | null, ctx: ToolContext): Promise<Judgement> {
  const [{ decide }, { decisionsByMode }, { resolveOnDisk }, sandbox] = await Promise.all([
    import('./safety/decide.ts'),
    import('./safety/modes.ts'),
    import('./safety/fs-links.ts'),
    ctx.exec.sandbox(),
  ]);
  const confined = sandbox.kind !== 'none';
  const cwd = ctx.exec.cwd();
  const { tainted, ...rules } = ctx.commandRules();
  const facts: Facts = {
    root: ctx.root,
    cwd,
    home: homedir(),
    resolve: resolveOnDisk,
    ...rules,
    tainted: tainted !== undefined,
    sandbox: confined,
    plainGitConfig: confined || hasPlainGit(ctx.root),
    caseInsensitive: process.platform !== 'linux',
    control: ctx.exec.control,
  };
  const plain = decide(command, facts);
  const decision = tainted === undefined || plain.op !== 'network' ? plain : withReason(plain, tainted);
  const answer = decisionsByMode(decision, { sandbox: confined, canAsk: true })[ctx.mode];
  const request: CommandRequest = {
    command,
    cwd,
    timeoutMs,
    // What only reads needs no more, in any mode.
    profile: ctx.mode === 'edit' && decision.class !== 'allow-readonly' ? 'read-write' : 'read-only',
    network: ctx.mode === 'edit' && decision.op === 'network',
    extraPaths: extraPaths(decision),
    opKey: ctx.op,
  };
  const fingerprint = JSON.stringify([ctx.mode, sandbox.kind, decision.class, decision.op, decision.paths, request]);
  const rule = answer === 'ask' ? (await import('./safety/suggest.ts')).suggestRule(command, facts) : undefined;
  return { decision, answer, sandbox, request, rule, fingerprint };
}

/** A grant from before does not cover a question with a reason that is new (permissions-memory.ts). */
const withReason = (decision: Decision, tainted: string): Decision => ({
  ...decision,
  reasons: [...decision.reasons, `No rule covers the network here, because ${tainted}.`],
});

/** The places outside that the command names and that are known: what an approval opens, for what it does there, and nothing beside. */
function extraPaths(decision: Decision): readonly ExtraPath[] {
  const places = new Map<string, ExtraPath['access']>();
  for (const { path, outside, access } of decision.paths) {
    if (!outside || !path.startsWith('/') || /[*?[\]$`]/.test(path)) continue;
    const real = realOf(path);
    if (places.get(real) !== 'write') places.set(real, access);
  }
  return [...places].map(([path, access]) => ({ path, access }));
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Keys with which a repository makes git run a program, or read more settings. */
const RUNS_PROGRAMS =
  /fsmonitor|hookspath|sshcommand|gitproxy|askpass|pager|editor|external|textconv|driver|clean|smudge|process|program|helper|command|cmd|\balias\b|include|packobjectshook|attributesfile|worktreeconfig/i;

/** Whether git can be trusted with this repository without a sandbox (R16): its settings and hooks name no program. */
function hasPlainGit(root: string): boolean {
  try {
    if (RUNS_PROGRAMS.test(readFileSync(join(root, '.git/config'), 'utf8'))) return false;
    return readdirSync(join(root, '.git/hooks')).every((name) => name.endsWith('.sample'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
