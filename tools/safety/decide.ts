// The decision about a command (SAFETY 2): pure, from its text and the facts. It decides only whether to ask; what can
// happen is the sandbox's to decide. The whole request takes its worst part.

import { type Decision, type Finding, reach, severity } from './decision.ts';
import type { Facts } from './facts.ts';
import type { Part } from './judge.ts';
import { type CompiledLists, compileLists } from './lists.ts';
import { settledPaths } from './paths.ts';
import { newScope } from './scope.ts';
import { walkScript } from './walk.ts';
import { createWalk } from './walk-state.ts';

/** Judges a command. Never throws; what it does not understand is refused or asked about. */
export function decide(command: string, facts: Facts): Decision {
  const walk = createWalk(facts, listsOf(facts), walkScript);
  try {
    walk.script(command, newScope(facts.cwd, facts.home));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return {
      class: 'forbidden',
      op: 'exec',
      reasons: ['The command is nested too deeply to be judged.'],
      paths: [],
      literal: false,
    };
  }
  return settle(walk.parts, settledPaths(walk.paths), walk.literal, facts.tainted === true);
}

function settle(parts: readonly Part[], paths: Decision['paths'], literal: boolean, tainted: boolean): Decision {
  const lift = parts.every(
    (part) => part.allowed || part.findings.every((finding) => finding.class === 'allow-readonly'),
  );
  let worst: Decision['class'] = 'allow-readonly';
  let op: Decision['op'] = 'read';
  const reasons: { readonly text: string; readonly rank: number }[] = [];
  for (const part of parts) {
    for (const found of part.findings) {
      const finding = lift && part.allowed ? lowered(found, tainted) : found;
      if (severity(finding.class) > severity(worst)) worst = finding.class;
      if (reach(finding.op) > reach(op)) op = finding.op;
      if (!reasons.some((reason) => reason.text === finding.reason)) {
        reasons.push({ text: finding.reason, rank: severity(finding.class) });
      }
    }
  }
  return {
    class: worst,
    op,
    reasons: reasons.toSorted((a, b) => b.rank - a.rank).map((reason) => reason.text),
    paths,
    literal,
  };
}

/** R14: an allowed entry lowers approval to a write of the project, nothing else. */
function lowered(finding: Finding, tainted: boolean): Finding {
  if (finding.class !== 'needs-approval-edit') return finding;
  if (!finding.liftable) {
    if (!tainted || finding.op !== 'network') return finding;
    return {
      ...finding,
      reason: `${finding.reason} Asked although it is allowed: the words of others were read before.`,
    };
  }
  return { ...finding, class: 'deny-in-read-only', reason: `${finding.reason} AllowedCommands covers it.` };
}

const compiled = new WeakMap<
  readonly string[],
  { readonly forbidden: readonly string[]; readonly lists: CompiledLists }
>();

/** The lists of the facts, compiled once for each pair of arrays. */
function listsOf(facts: Facts): CompiledLists {
  const known = compiled.get(facts.allowed);
  if (known !== undefined && known.forbidden === facts.forbidden) return known.lists;
  const lists = compileLists(facts.allowed, facts.forbidden);
  compiled.set(facts.allowed, { forbidden: facts.forbidden, lists });
  return lists;
}
