// `odin trust`: accepts the folder and this very text of its odinconfig.json (SAFETY 2.3), says how things stand, or takes it back.

import { join } from 'node:path';
import { PROJECT_CONFIG_FILE, parseConfig } from '../../orchestrator/config.ts';
import { acceptFolder, readConfigText, revokeTrust, trustedSince } from '../../orchestrator/trust.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { cleanLine, cleanText } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere } from '../place.ts';
import { settingsOf } from '../settings.ts';
import { configTrustText, folderTrustText } from '../trust-text.ts';

export interface TrustOptions {
  readonly revoke?: boolean;
  readonly show?: boolean;
}

export async function trust({ revoke, show }: TrustOptions): Promise<number> {
  const place = placeHere();
  const root = findRoot(place.cwd);
  const shownRoot = cleanLine(root);
  if (revoke === true) {
    const had = await revokeTrust(place.home, root);
    process.stdout.write(had ? `${shownRoot} is no longer trusted\n` : `${shownRoot} was not trusted\n`);
    return EXIT.completed;
  }
  if (show === true) {
    const { trust: config } = await settingsOf(place);
    process.stdout.write(`${shownRoot}: ${folderTrustText(trustedSince(place.home, root))}\n`);
    process.stdout.write(`${PROJECT_CONFIG_FILE}: ${configTrustText(config)}\n`);
    return EXIT.completed;
  }
  const path = join(root, PROJECT_CONFIG_FILE);
  const text = readConfigText(path);
  // What is accepted is what is shown, byte for byte: it is read once.
  const parsed = await parseConfig((text ?? '').replace(/^\ufeff/, ''), path, 'project');
  if (!parsed.ok) throw new UserError(parsed.failure.message);
  const { trust: before } = await settingsOf(place);
  await acceptFolder(place.home, root, text, Date.now());
  const now = before.waiting.length === 0 ? '' : `; from now on these hold too: ${before.waiting.join(', ')}`;
  const config =
    text === null
      ? `It has no ${PROJECT_CONFIG_FILE}; one that comes later has to be trusted again.`
      : `Its ${PROJECT_CONFIG_FILE} is trusted as it is now${now}\nA change of it has to be trusted again.`;
  if (text !== null) process.stdout.write(cleanText(`${text.trimEnd()}\n`));
  process.stdout.write(`${shownRoot} is trusted: what stands in it counts as your own words.\n`);
  process.stdout.write(`${config} odin trust --revoke takes it back.\n`);
  return EXIT.completed;
}
