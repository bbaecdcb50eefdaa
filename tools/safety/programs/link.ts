// ln (R10), and where an operation that takes a folder as its target puts its entries.

import type { Call, Judge } from '../judge.ts';
import { grammar, scan } from '../options.ts';
import { judgePath, tidy } from '../paths.ts';
import { type Field, isKnown, plainField } from '../words.ts';
import { judgeOptions } from './read.ts';

const LN_RULES = grammar(
  '-bdfFhiLnPrsTvw -S# -t> --backup? --directory --force --interactive --logical --no-dereference --physical --relative --symbolic',
  '--suffix# --target-directory> --no-target-directory --verbose',
);

/** ln (R10): a link whose target is outside is an outside write; a link to a protected file is a way to write it. */
export function judgeLink(judge: Judge, call: Call): void {
  const found = scan(call.args, LN_RULES);
  judgeOptions(judge, 'ln', found, call.scope);
  const symbolic = found.options.some((option) => option.name === '-s' || /^--s(?:y|$)/.test(option.name));
  const relative = found.options.some((option) => option.name === '-r' || option.name.startsWith('--rel'));
  const folder = found.options.find((option) => option.name === '-t' || option.name.startsWith('--target'))?.value;
  const last = folder ?? (found.operands.length > 1 ? found.operands.at(-1) : undefined);
  const targets = folder === undefined && last !== undefined ? found.operands.slice(0, -1) : found.operands;
  const place = last ?? plainField('.');
  if (last !== undefined) judgePath(judge, last, 'write', call.scope);
  else
    judge.part.findings.push({ class: 'deny-in-read-only', op: 'write', reason: 'It makes a link.', liftable: true });
  for (const target of targets) {
    const bases = symbolic && !relative && !target.text.startsWith('/') ? basesOf(place) : [''];
    for (const base of bases) {
      judgePath(
        judge,
        { ...target, text: base + target.text, globAt: target.globAt < 0 ? -1 : target.globAt + base.length },
        'write',
        call.scope,
      );
    }
    rememberLink(call, place, target);
    const entry = last === undefined ? undefined : entryIn(place, target);
    if (entry !== undefined) judgePath(judge, entry, 'write', call.scope);
  }
}

/** The folders a relative target can be relative to: the place itself when it is a folder, else the folder it lies in. */
function basesOf(place: Field): readonly string[] {
  if (!isKnown(place)) return [''];
  const text = place.text.replace(/\/+$/, '');
  const cut = text.lastIndexOf('/');
  return [`${place.text}/`, cut < 0 ? '' : text.slice(0, cut + 1)];
}

function rememberLink(call: Call, place: Field, target: Field): void {
  const name = tidy(target.text).split('/').at(-1) ?? '';
  const made: string[] = [];
  for (const cwd of call.scope.cwds ?? []) {
    const path = tidy(place.text.startsWith('/') ? place.text : `${cwd}/${place.text}`).replace(/\/$/, '');
    made.push(path, `${path}/${name}`);
  }
  call.scope.links = [...call.scope.links, ...made];
}

/** `target/name-of-source`, when both are known. */
export function entryIn(target: Field, source: Field): Field | undefined {
  if (!isKnown(target) || !isKnown(source) || target.globAt >= 0 || source.globAt >= 0 || source.process)
    return undefined;
  const name = tidy(source.text).split('/').at(-1) ?? '';
  if (name === '' || name === '.' || name === '..') return undefined;
  return { ...target, text: `${target.text}/${name}` };
}
