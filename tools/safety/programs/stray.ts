// Operands of programs whose grammar is not known in detail (R8, R11, R15): anything in them that looks like a path is
// judged as one, and only what is outside, secret or Odin's own adds to the decision.

import { FLOW, forbid, type Judge, needs } from '../judge.ts';
import { type Access, isInside, judgePath } from '../paths.ts';
import { isSecretName } from '../protected.ts';
import type { Scope } from '../scope.ts';
import { type Field, isKnown, sliceField } from '../words.ts';

const URL = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/** Judges one operand of such a program. */
export function judgeStray(judge: Judge, field: Field, access: Access, scope: Scope): void {
  if (field.process || field.text === '') return;
  if (!isKnown(field)) return judgePath(judge, field, access, scope);
  for (const piece of piecesOf(field, access === 'network' ? /[=@<,;]/g : /[=@:<,;]/g))
    judgePiece(judge, piece, access, scope);
}

/** The parts of a word that can be paths: itself, an option's value, behind `=` and `@`, between `:` unless that is a host's. */
function piecesOf(field: Field, borders: RegExp): readonly Field[] {
  const text = field.text;
  if (/^file:\/\//i.test(text))
    return [sliceField(field, text.indexOf('/', 7) < 0 ? text.length : text.indexOf('/', 7))];
  if (URL.test(text)) return [];
  const pieces = text.startsWith('-') ? [] : [field];
  if (/^-[^-]./.test(text)) pieces.push(sliceField(field, 2));
  for (const match of text.matchAll(borders)) pieces.push(sliceField(field, match.index + 1));
  const embedded = text.search(/[=@<](?:file:)\/\//i);
  if (embedded >= 0) pieces.push(sliceField(field, text.indexOf('//', embedded) + 2));
  return pieces
    .map(firstOfList)
    .filter((piece) => piece.text !== '' && !URL.test(piece.text) && !piece.text.startsWith('//'));
}

/** `/a:/b` as `/a`; what is behind the colon is a piece of its own. */
function firstOfList(field: Field): Field {
  const end = field.text.search(/[:;,]/);
  return end > 0 ? sliceField(field, 0, end) : field;
}

function judgePiece(judge: Judge, piece: Field, access: Access, scope: Scope): void {
  const name = piece.text.slice(piece.text.lastIndexOf('/') + 1);
  const home = piece.text === '~' || piece.text.startsWith('~/');
  if (isSecretName(name) && (home || !isInside(judge, piece, scope))) judge.part.flow |= FLOW.secret;
  if (home) return judgePath(judge, { ...piece, text: `${judge.home}${piece.text.slice(1)}` }, access, scope);
  if (piece.text.startsWith('~')) {
    return judgePath(judge, { ...piece, text: '/', raw: piece.raw }, access, scope);
  }
  judgePath(judge, piece, access, scope);
}

/** Programs that change files in place: what they name is written. */
export function forbidControlTargets(judge: Judge, fields: readonly Field[], scope: Scope): void {
  const before = judge.part.findings.length;
  for (const field of fields) {
    if (isKnown(field) && !field.text.startsWith('-')) judgePath(judge, field, 'write', scope);
  }
  const found = judge.part.findings.splice(before);
  const worst = found.find((finding) => finding.class === 'forbidden');
  if (worst !== undefined) forbid(judge, worst.reason);
  else if (found.length > 0) needs(judge, 'write', 'It may change the files it names.');
}
