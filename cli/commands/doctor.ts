// `odin doctor`: is everything here that Odin needs, and if not, what is to be done.

import { cleanLine } from '../../shared/clean-text.ts';
import { allChecks } from '../doctor-checks.ts';
import { EXIT } from '../exit-codes.ts';
import { paintFor } from '../paint.ts';
import { placeHere } from '../place.ts';
import { jsonLine } from '../render-json.ts';

export async function doctor({ json }: { readonly json?: boolean }): Promise<number> {
  const paint = paintFor(process.stdout);
  let isHealthy = true;
  for (const pending of allChecks(placeHere())) {
    const check = await pending;
    isHealthy &&= check.ok || !check.needed;
    if (json === true) {
      process.stdout.write(jsonLine(check));
      continue;
    }
    const mark = check.ok ? paint('green', '✓') : paint(check.needed ? 'red' : 'yellow', '✗');
    const note = check.ok || check.needed ? '' : ' (optional)';
    process.stdout.write(`${mark} ${check.name}${note}: ${cleanLine(check.text)}\n`);
  }
  return isHealthy ? EXIT.completed : EXIT.failed;
}
