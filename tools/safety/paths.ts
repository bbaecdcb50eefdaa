// Where a path leads and what it means to read, write or delete there: R4's inside test, R9's protected names, R12's
// catastrophes, R13's own places. Comparison is by whole components of resolved paths.

import type { Op, PathNote } from './decision.ts';
import { FLOW, forbid, type Judge, needs, note } from './judge.ts';
import {
  CONTROL_NAMES,
  globMeets,
  globMeetsGit,
  globMeetsSecret,
  isNeutralDevice,
  isRawDisk,
  isSecretName,
  isTopFolder,
  matchesEverything,
  namesControl,
  namesSteering,
  STEERING_NAMES,
} from './protected.ts';
import type { Scope } from './scope.ts';
import { type Field, isKnown } from './words.ts';

/** `look` sees names and sizes only; `mode` is chmod; `run` is a program's own business with the path. */
export type Access = 'look' | 'read' | 'write' | 'mode' | 'move' | 'delete' | 'run' | 'network';

const OP_OF: Readonly<Record<Access, Op>> = {
  look: 'read',
  read: 'read',
  write: 'write',
  mode: 'write',
  move: 'delete',
  delete: 'delete',
  run: 'exec',
  network: 'network',
};

/** A path as far as it is fixed, and the glob components behind that. */
interface Place {
  /** As given, absolute, not yet resolved. */
  readonly given: string;
  readonly real: string;
  readonly glob: readonly string[];
}

/** Judges one path operand. Unknown and unresolvable ones count as outside. */
export function judgePath(judge: Judge, field: Field, access: Access, scope: Scope): void {
  if (field.process) return;
  const places = placesOf(judge, field, scope);
  if (typeof places === 'string') return outside(judge, field.raw, access, places);
  for (const place of places) judgePlace(judge, place, access);
}

/** The places a field can name, or why that is not known. */
function placesOf(judge: Judge, field: Field, scope: Scope): readonly Place[] | string {
  if (!isKnown(field)) return 'its value is not known in advance';
  const { text, globAt } = field;
  const cut = globAt < 0 ? text.length : text.lastIndexOf('/', globAt - 1) + 1;
  const fixed = text.slice(0, cut);
  const glob = text
    .slice(cut)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  if (globAt >= 0 && goesUp(glob)) return 'it goes up again behind a wildcard';
  const starts = text.startsWith('/') ? [''] : scope.cwds;
  if (starts === undefined) return 'the folder it is relative to is not known';
  const places: Place[] = [];
  for (const start of starts) {
    const given = text.startsWith('/') ? fixed : `${start}/${fixed}`;
    if (leadsThroughNewLink(given, scope)) return 'it leads through a link that this command makes';
    const real = judge.facts.resolve(given);
    if (real === undefined) return 'its links form a loop';
    places.push({ given, real, glob });
  }
  return places;
}

/** `..` behind a wildcard, or a wildcard that some versions of bash let match `..`. */
const goesUp = (glob: readonly string[]): boolean =>
  glob.some(
    (part, at) =>
      part === '..' || /\.\..*[|)]/.test(part) || (at < glob.length - 1 && globMeets(part, ['..']) !== 'no'),
  );

function judgePlace(judge: Judge, place: Place, access: Access): void {
  const shown = [place.real === '/' ? '' : place.real, ...place.glob].join('/') || '/';
  const device = place.glob.length === 0 ? tidy(place.given) : '';
  const reads = access === 'look' || access === 'read';
  if (isRawDisk(place.real) || isRawDisk(device)) {
    if (reads || access === 'run') return outside(judge, shown, access, 'it is a raw disk');
    return forbid(judge, `${shown} is a raw disk or memory; writing it is never allowed.`);
  }
  if (isNeutralDevice(device) && (reads || access === 'write' || access === 'run' || access === 'network')) return;
  if (isOwnPlace(judge, place.real)) {
    return forbid(judge, `${shown} belongs to Odin itself; commands may not reach it.`);
  }
  const below = componentsBelow(judge, place.real);
  const name = place.glob.at(-1) ?? place.real.slice(place.real.lastIndexOf('/') + 1);
  const secret = place.glob.length > 0 ? globMeetsSecret(name) : isSecretName(fold(judge, name));
  const opens = access === 'read' || access === 'run' || access === 'network';
  if (secret && opens) judge.part.flow |= FLOW.secret;
  if (below === undefined) return outside(judge, shown, access, 'it is outside of the project');
  if (secret && opens) needs(judge, 'secret', `${shown} may hold secrets; its text would leave the project.`);
  if (!reads) judgeChange(judge, place, shown, below, access);
  remember(judge, shown, false, access);
}

function judgeChange(judge: Judge, place: Place, shown: string, below: readonly string[], access: Access): void {
  const parts = [...below, ...place.glob].map((part) => fold(judge, part));
  const written = tidy(place.given)
    .split('/')
    .map((part) => fold(judge, part));
  if (access !== 'run' && (namesControl(parts) || CONTROL_NAMES.has(written.at(-1) ?? ''))) {
    return forbid(judge, `${shown} holds Odin's own rules or state; no command may change it.`);
  }
  if (access === 'run' || access === 'network') return;
  if (access === 'move' && below.length === 0 && place.glob.length === 0) {
    return forbid(judge, 'Moving the project folder itself is never allowed.');
  }
  if (place.glob.length > 0) judgeGlobChange(judge, place, shown, below, access);
  if (access === 'delete') return needs(judge, 'delete', `It deletes ${shown}, which cannot be undone.`);
  if (namesSteering(parts) || namesSteering(written.slice(-1))) {
    return needs(judge, 'write', `${shown} steers tools or later sessions, or holds secrets.`);
  }
  note(judge, 'deny-in-read-only', 'write', `It writes ${shown}.`);
}

function judgeGlobChange(judge: Judge, place: Place, shown: string, below: readonly string[], access: Access): void {
  const first = fold(judge, place.glob[0] ?? '');
  const control = below.length === 0 && access !== 'mode' ? globMeets(first, CONTROL_NAMES) : 'no';
  if (control === 'aims')
    forbid(judge, `The pattern ${shown} means Odin's own rules or state; no command may change it.`);
  else if (control === 'can') needs(judge, 'write', `The pattern ${shown} can match Odin's own rules or state.`);
  else if (
    place.glob.some((part) => !matchesEverything(part) && globMeets(fold(judge, part), STEERING_NAMES) !== 'no')
  ) {
    needs(judge, 'write', `The pattern ${shown} can match files that steer tools or later sessions.`);
  }
}

/** R12: recursive deletion or mode change of a folder that holds everything. True when it is one. */
export function judgeCatastrophe(judge: Judge, field: Field, scope: Scope, verb: string): boolean {
  const places = placesOf(judge, field, scope);
  if (typeof places === 'string') return false;
  for (const place of places) {
    const whole = place.glob.length === 0 || (place.glob.length === 1 && matchesEverything(place.glob[0] ?? ''));
    const git = place.glob.length === 1 && globMeetsGit(fold(judge, place.glob[0] ?? ''));
    const anyOfRoot = place.real === '/' && place.glob.length > 0;
    if (!anyOfRoot && !git && !(whole && isPrecious(judge, place.real))) continue;
    const shown = [place.real === '/' ? '' : place.real, ...place.glob].join('/') || '/';
    forbid(judge, `${verb} ${shown} and everything below it is never allowed.`);
    return true;
  }
  return false;
}

function isPrecious(judge: Judge, real: string): boolean {
  const { root, home } = judge;
  return (
    real === '/' ||
    isTopFolder(real) ||
    real === home ||
    home.startsWith(`${real}/`) ||
    real === root ||
    root.startsWith(`${real}/`) ||
    fold(judge, real).endsWith('/.git')
  );
}

/** Whether every place a field can name is inside; used where only an outside one matters. */
export function isInside(judge: Judge, field: Field, scope: Scope): boolean {
  if (field.process) return true;
  const places = placesOf(judge, field, scope);
  if (typeof places === 'string') return false;
  return places.every(
    (place) => isNeutralDevice(tidy(place.given)) || componentsBelow(judge, place.real) !== undefined,
  );
}

/** Notes something outside of the project, named by `shown`. A program is read to be run, its operands are its own business. */
export function outside(judge: Judge, shown: string, access: Access | 'program', why: string): void {
  remember(judge, shown, true, access, why);
  note(judge, 'outside-approval', access === 'program' ? 'exec' : OP_OF[access], `${shown}: ${why}.`, false);
}

const READS: ReadonlySet<Access | 'program'> = new Set(['look', 'read', 'program'] as const);

function remember(judge: Judge, path: string, out: boolean, access: Access | 'program', why: string = access): void {
  const note: PathNote = { path, outside: out, why, access: READS.has(access) ? 'read' : 'write' };
  if (!judge.paths.some((known) => known.path === path && known.why === why && known.access === note.access))
    judge.paths.push(note);
}

/** Each path once for each reason, with the furthest access that any part of the command has there. */
export function settledPaths(paths: readonly PathNote[]): readonly PathNote[] {
  const written = new Set(paths.flatMap(({ path, access }) => (access === 'write' ? [path] : [])));
  const settled: PathNote[] = [];
  for (const note of paths) {
    if (settled.some((known) => known.path === note.path && known.outside === note.outside && known.why === note.why))
      continue;
    settled.push(written.has(note.path) ? { ...note, access: 'write' } : note);
  }
  return settled;
}

/** The components of a real path below the root; undefined when it is not below. */
function componentsBelow(judge: Judge, real: string): readonly string[] | undefined {
  const path = fold(judge, real);
  const root = fold(judge, judge.root);
  if (path === root) return [];
  const prefix = root === '/' ? '/' : `${root}/`;
  return path.startsWith(prefix) ? real.slice(prefix.length).split('/') : undefined;
}

const OWN_TEMPORARY = /^(?:\/(?:private\/)?tmp\/odin-\d+|\/run\/user\/\d+\/odin)(?:\/|$)/;

function isOwnPlace(judge: Judge, real: string): boolean {
  const own = [`${judge.home}/.odin`, ...(judge.facts.control?.paths ?? [])];
  return OWN_TEMPORARY.test(real) || own.some((path) => real === path || real.startsWith(`${path}/`));
}

function leadsThroughNewLink(given: string, scope: Scope): boolean {
  return scope.links.some((link) => tidy(given).startsWith(`${link}/`) && given.split('/').includes('..'));
}

/** Folds `//` and `/./`, nothing else. */
export const tidy = (path: string): string => path.replace(/\/(?:\.?\/)+/g, '/').replace(/(.)\/\.?$/, '$1');

const fold = (judge: Judge, text: string): string => (judge.facts.caseInsensitive === true ? text.toLowerCase() : text);
