// Debian's Chromium for the tests of the page. Where there is none they are skipped, and say so.

import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';

const CHROMIUM = process.env['ODIN_TEST_CHROMIUM'] ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser)
  process.stderr.write(`The page is not tested in a browser: there is no ${CHROMIUM} (apt-get install chromium).\n`);

export async function openBrowser(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath: CHROMIUM,
    timeout: 240_000,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync'],
    ],
  });
}
