// `odin questions`: what waits for an answer, in all sessions of the project (SPEC O24).

import { cleanLine } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { noPaint, paintFor } from '../paint.ts';
import { placeHere, withOdin } from '../place.ts';
import { askedOf, questionLines } from '../question-text.ts';
import { jsonLine } from '../render-json.ts';

export async function questions({ json }: { readonly json?: boolean }): Promise<number> {
  const open = await withOdin(placeHere(), null, (odin) => odin.questions());
  if (json === true) {
    for (const question of open) process.stdout.write(jsonLine(question));
    return EXIT.completed;
  }
  const paint = process.stdout.isTTY ? paintFor(process.stdout) : noPaint;
  for (const question of open) {
    process.stdout.write(`${questionLines(askedOf(question), paint).join('\n')}\n`);
    const always = question.rule === undefined ? '' : 'always|';
    process.stdout.write(`  session ${question.sid}${until(question.expiresAt)}\n`);
    process.stdout.write(`  answer it: odin answer ${cleanLine(question.id)} allow|session|${always}deny\n`);
  }
  if (open.length === 0) process.stderr.write('No question is open.\n');
  return EXIT.completed;
}

const until = (expiresAt: number | undefined): string =>
  expiresAt === undefined ? '' : `, denied if not answered by ${new Date(expiresAt).toLocaleTimeString()}`;
