// The web of a test that needs none: nothing is there, and nobody is asked.

import { fail } from '../../shared/outcome.ts';
import type { WebPort } from '../../shared/web-port.ts';

const none = () => Promise.resolve(fail('failed', 'no_web', 'There is no web in this test.'));

export const NO_WEB: WebPort = { target: none, fetch: none, knows: () => false };
