// `odin trust`: accepts this very text of the project's odinconfig.json (SAFETY 2.3), or takes that back.

import { join } from 'node:path';
import { PROJECT_CONFIG_FILE, parseConfig } from '../../orchestrator/config.ts';
import { acceptConfig, readConfigText, revokeTrust } from '../../orchestrator/trust.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { cleanText } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';

export async function trust({ revoke }: { readonly revoke?: boolean }): Promise<number> {
  const place = placeHere();
  const root = findRoot(place.cwd);
  const path = join(root, PROJECT_CONFIG_FILE);
  if (revoke === true) {
    const had = await revokeTrust(place.home, root);
    process.stdout.write(had ? `${path} is no longer trusted\n` : `${path} was not trusted\n`);
    return EXIT.completed;
  }
  const text = readConfigText(path);
  if (text === null) throw new UserError(`there is no ${path} to trust.`);
  // What is accepted is what is shown, byte for byte: it is read once.
  const parsed = await parseConfig(text.replace(/^\ufeff/, ''), path, 'project');
  if (!parsed.ok) throw new UserError(parsed.failure.message);
  const { trust: before } = await settingsOf(place);
  await acceptConfig(place.home, root, text, Date.now());
  process.stdout.write(cleanText(`${text.trimEnd()}\n`));
  const now = before.waiting.length === 0 ? '' : `; from now on these hold too: ${before.waiting.join(', ')}`;
  process.stdout.write(
    `${path} is trusted as it is now${now}\nA change of it has to be trusted again. odin trust --revoke takes it back.\n`,
  );
  return EXIT.completed;
}
