// `odin diff`: what a session has changed in files, in sum (SPEC E14).

import { cleanText } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { findSession } from '../find-session.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';

export async function diff(session: string, options: { readonly json?: boolean }): Promise<number> {
  return await withOdin(placeHere(), null, async (odin) => {
    const files = await odin.diff(await findSession(odin, session));
    if (options.json === true) {
      for (const file of files) process.stdout.write(jsonLine(file));
      return EXIT.completed;
    }
    for (const file of files) {
      process.stdout.write(cleanText(`${file.status} ${file.path} (+${file.added} -${file.removed})\n${file.diff}\n`));
    }
    if (files.length === 0) process.stderr.write('this session has changed no files\n');
    return EXIT.completed;
  });
}
