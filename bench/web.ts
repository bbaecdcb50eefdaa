// bench web: what WebFetch costs the process that must stay awake while it reads what anybody wrote. Pages made to choke a reader come
// from a server on this machine, through fetch and thread to their refusal; how long the event loop stood still is measured meanwhile.
// Floor: the same process with nothing to do. Real pages: warm, from bytes to Markdown; floor: the way to the thread and back.

import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { openPagePool } from '../orchestrator/pool.ts';
import { FETCH_LIMITS } from '../orchestrator/web/fetch-page.ts';
import { openWeb } from '../orchestrator/web/web.ts';
import { atMost, type BenchReport, type Figure, type Goal, median, report } from './report.ts';

const IDLE_MS = 3_000;
const PAGES = new URL('../test/fixtures/web-pages/', import.meta.url);
const never = new AbortController().signal;

const nested = (count: number): string => `${'<div>'.repeat(count)}x${'</div>'.repeat(count)}`;
const HOSTILE: Readonly<Record<string, string>> = {
  'nesting of 500': nested(500),
  'nesting of 3,000': nested(3_000),
  '3,000 nested tables': '<table><tr><td>'.repeat(3_000),
  '100,000 attributes': `<p ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(' ')}>`,
  '600,000 elements': '<i></i>'.repeat(600_000),
  '60,000 open links': '<a href=x>x'.repeat(59_000),
  'a table of 20,000 columns': `<table>${`<tr>${'<td>x</td>'.repeat(20_000)}</tr>`.repeat(2)}</table>`,
};

export async function benchWeb({ rounds }: { readonly rounds: number }): Promise<BenchReport> {
  const idle = await stallOf(() => sleep(IDLE_MS));
  const figures: Figure[] = [];
  const goals: Goal[] = [];
  const site = await openSite();
  const pool = openPagePool();
  const web = openWeb({ openPool: () => pool, rules: { ...site.rules, limits: { ...FETCH_LIMITS, totalMs: 3_000 } } });
  const port = web.portFor({ sid: 'bench', allowedHosts: () => [], userTexts: () => [] });
  const read = async (path: string) => {
    const target = await port.target(`${site.url}${path}`);
    return target.ok ? port.fetch(target.value, never, () => {}) : target;
  };
  try {
    const first = await stallOf(() => read('/warm'));
    figures.push({ name: 'longest stall: loading what the first page needs', unit: 'ms', odin: first, floor: idle });
    for (const name of [...Object.keys(HOSTILE), 'gzip bomb', 'drip']) {
      const stall = await stallOf(() => read(`/${encodeURIComponent(name)}`));
      figures.push({ name: `longest stall: ${name}`, unit: 'ms', odin: stall, floor: idle });
      goals.push(atMost(`longest stall: ${name}`, stall, 50, 'ms'));
    }
    const bytes = readdirSync(PAGES)
      .filter((name) => name.endsWith('.html'))
      .map((name) => new Uint8Array(readFileSync(new URL(name, PAGES))));
    const took = { html: [] as number[], text: [] as number[] };
    for (let round = 0; round <= rounds; round++) {
      for (const type of ['html', 'text'] as const) {
        const contentType = type === 'html' ? 'text/html' : 'text/plain';
        const start = performance.now();
        for (const one of bytes)
          await pool.run('page', { bytes: one, contentType, charset: null, url: 'https://x.test/' }, never);
        if (round > 0) took[type].push((performance.now() - start) / bytes.length);
      }
    }
    figures.push({ name: 'a page of documentation', unit: 'ms', odin: median(took.html), floor: median(took.text) });
  } finally {
    await web.close();
    site.close();
  }
  return report('web', figures, goals);
}

/**
 * The longest turn of the event loop meanwhile, as processor time of this thread: what other programs take of the machine is nobody's
 * stall.
 */
async function stallOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  }, 1);
  await work();
  clearInterval(timer);
  return longest;
}

async function openSite() {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? '').slice(1);
    response.setHeader('content-type', 'text/html');
    if (name === 'gzip bomb') return sendWithoutEnd(response, bomb);
    if (name === 'drip') return drip(response);
    response.end(HOSTILE[name] ?? '<main><h1>Warm</h1></main>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://bench.test:${port}`,
    rules: {
      policy: (address: string) => address === '127.0.0.1',
      allowsPort: () => true,
      resolve: (_host: string, done: (error: null, found: { address: string; family: number }[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }]),
    },
    close: () => server.close().closeAllConnections(),
  };
}

function sendWithoutEnd(response: ServerResponse, packed: Buffer): void {
  response.setHeader('content-encoding', 'gzip');
  const more = () => {
    while (!response.destroyed && response.write(packed));
  };
  response.on('drain', more);
  more();
}

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 5);
  response.on('close', () => clearInterval(timer));
}
