// `odin logout`: takes a key of `odin login` away again.

import { removeKey, storedProviders } from '../../orchestrator/stored-keys.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere } from '../place.ts';

export async function logout(provider: string | undefined): Promise<number> {
  const { home } = placeHere();
  const names = storedProviders(home);
  const [only] = names;
  if (only === undefined) throw new UserError('no key is stored. Keys in the environment are not touched.');
  if (provider === undefined && names.length > 1) {
    throw new UserError(`say which: ${names.map((name) => `odin logout ${name}`).join(', ')}`, EXIT.usage);
  }
  const name = provider ?? only;
  if (!(await removeKey(home, name))) {
    throw new UserError(`no key of "${cleanLine(name, 60)}" is stored. Stored: ${names.join(', ')}.`, EXIT.usage);
  }
  process.stdout.write(`The key of ${name} is gone from here. At the provider it is still valid.\n`);
  return EXIT.completed;
}
