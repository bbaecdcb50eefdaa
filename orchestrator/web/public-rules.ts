// The rules that hold outside of tests: the public web alone, within the limits of SAFETY 5.

import { FETCH_LIMITS, type FetchRules } from './fetch-page.ts';
import { PUBLIC_ONLY } from './safe-dispatcher.ts';

export const PUBLIC_RULES: FetchRules = { ...PUBLIC_ONLY, limits: FETCH_LIMITS };
