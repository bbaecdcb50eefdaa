// `odin fsck`: is everything that Odin keeps whole? It looks; with --repair it also repairs, and says what it did.

import { cleanLine } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { paintFor } from '../paint.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';

export interface FsckOptions {
  readonly repair?: boolean;
  readonly json?: boolean;
}

export async function fsck({ repair, json }: FsckOptions): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const report = await odin.fsck(repair === true);
    const code = report.clean ? EXIT.completed : EXIT.failed;
    if (json === true) {
      process.stdout.write(jsonLine(report));
      return code;
    }
    const paint = paintFor(process.stdout);
    for (const { severity, where, message, repaired, repair: possible } of report.lines) {
      const color =
        repaired !== null ? 'green' : severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'dim';
      const done = repaired === null ? '' : `\n  repaired: ${repaired}`;
      const could = possible === null ? '' : `\n  --repair would ${possible}`;
      process.stdout.write(`${paint(color, severity)} ${cleanLine(where)}: ${cleanLine(message)}${done}${could}\n`);
    }
    const { sessions, archives, events, blobs } = report.checked;
    const end = report.clean ? 'all is well' : 'not all is well';
    process.stdout.write(
      `${sessions} sessions in Redis, ${archives} in files, ${events} events, ${blobs} blobs checked: ${end}\n`,
    );
    return code;
  });
}
