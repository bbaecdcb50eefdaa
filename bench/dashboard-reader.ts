// A reader of the dashboard for the bench, in a process of its own with the lowest priority, so that it takes as little from the machine as
// one on another machine would: it follows the list and one session, and says which rows it sees, which change every second.

import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const ROWS_SEEN = 20;

setPriority(19);
const [link = '', open = '', rest = ''] = process.argv.slice(2);
const sids = rest.split(',');
const { origin, hash } = new URL(link);
const token = new URLSearchParams(hash.slice(1)).get('token');
const json = { 'content-type': 'application/json', origin };
const login = await fetch(`${origin}/api/login`, { method: 'POST', headers: json, body: JSON.stringify({ token }) });
const { key } = (await login.json()) as { readonly key: string };
const visitor = { cookie: String(login.headers.get('set-cookie')).split(';')[0] ?? '', 'x-odin-key': key };

/** The bytes are taken from the line, no more. */
async function follow(path: string): Promise<void> {
  const { body } = await fetch(`${origin}${path}`, { headers: visitor });
  for await (const chunk of body ?? []) void chunk;
}

const view = '0'.repeat(26);
void follow(`/api/events?view=${view}`);
void follow(`/api/sessions/${open}/events`);
process.stdout.write('ready\n');
for (let second = 0; ; second++) {
  const from = (second * ROWS_SEEN) % sids.length;
  const rows = sids.slice(from, from + ROWS_SEEN);
  const reply = await fetch(`${origin}/api/view`, {
    ...{ method: 'POST', headers: { ...json, ...visitor } },
    body: JSON.stringify({ view, sids: rows, away: false }),
  });
  if (!reply.ok) throw new Error(`It was not told which rows are seen: ${reply.status} ${await reply.text()}`);
  await reply.text();
  await delay(1_000);
}
