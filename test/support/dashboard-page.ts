// The page in a real browser for tests: one browser for a file, a page whose every complaint is kept, and what the checker of
// accessibility finds. ODIN_SCREENSHOTS names a folder that the pictures of docs/ are written to.

import { join } from 'node:path';
import { afterAll, beforeAll, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { hasBrowser, openBrowser } from './browser.ts';

export const inBrowser = hasBrowser ? test : test.skip;
/** Playwright's own limit of a wait is below that of a test, so that what fails says what it waited for. */
const PATIENCE_MS = 240_000;
const SHOTS = process.env['ODIN_SCREENSHOTS'];

/** Text that would be script if it were markup, and that hides and turns what stands beside it. */
export const EVIL = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'`\u202egnp.exe\u001b[31m';

/** The browser of a test file. */
export function useBrowser(): () => Browser {
  let browser: Browser;
  beforeAll(async () => {
    if (hasBrowser) browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });
  return () => browser;
}

/** A page whose every complaint is kept: a script that the policy stops, an error, a request that goes elsewhere. */
export async function openPage(context: BrowserContext, link: string): Promise<{ page: Page; complaints: string[] }> {
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Refused/.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(link).origin)) complaints.push(request.url());
  });
  await page.goto(link);
  return { page, complaints };
}

export const shot = async (page: Page, name: string): Promise<void> => {
  if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `dashboard-${name}.png`) });
};

/** What the checker finds that is serious. */
export async function faults(page: Page): Promise<readonly string[]> {
  const { default: axe } = await import('axe-core');
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    return (await checker.run()).violations;
  });
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
