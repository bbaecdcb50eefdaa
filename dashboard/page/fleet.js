// The project's batches and the workers: progress, rate, what is left, what failed, results to download.

import { byId, h } from './dom.js';
import { ago, duration, money, oneLine, tokens } from './format.js';
import { askText } from './net.js';

const batchRows = new Map();

export function showFleet({ batches, workers }) {
  byId('batches').hidden = batches.length === 0;
  byId('workers').hidden = workers.length === 0;
  const wanted = new Set(batches.map(({ bid }) => bid));
  for (const [bid, row] of batchRows) {
    if (wanted.has(bid)) continue;
    row.item.remove();
    batchRows.delete(bid);
  }
  const list = byId('batch-list');
  batches.forEach((batch, i) => {
    const row = batchRows.get(batch.bid) ?? createBatch(batch.bid);
    batchRows.set(batch.bid, row);
    row.show(batch);
    if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] ?? null);
  });
  byId('worker-list').replaceChildren(...workers.map(workerRow));
}

function createBatch(bid) {
  const title = h('strong');
  const badge = h('span.badge');
  const bar = h('span');
  const facts = h('p.facts');
  const said = h('p.note.bad', { role: 'alert' });
  const failures = h('ul');
  const failed = h('details', { hidden: true }, h('summary', 'Failures'), failures);
  const read = (query) => askText(`/api/batches/${encodeURIComponent(bid)}/results${query}`);
  failed.addEventListener('toggle', async () => {
    if (!failed.open) return;
    const lines = await read('?status=failed').catch(
      (error) => `{"id":"","reason":${JSON.stringify(error.message)},"answer":""}\n`,
    );
    const results = lines
      .trimEnd()
      .split('\n')
      .slice(0, 100)
      .map((line) => JSON.parse(line));
    failures.replaceChildren(
      ...results.map(({ id, reason, answer }) => h('li.note', `${id}: ${reason}. ${oneLine(answer, 200)}`)),
    );
  });
  const download = async () => {
    try {
      const url = URL.createObjectURL(new Blob([await read('')], { type: 'application/x-ndjson' }));
      h('a', { href: url, download: `${bid}.jsonl` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const item = h(
    'li.session',
    h('span.title', title, badge),
    h('div.bar', bar),
    facts,
    failed,
    h('div.buttons', h('button', { type: 'button', onclick: () => void download() }, 'Download results')),
    said,
  );
  return {
    item,
    show({
      name,
      total,
      done,
      counts,
      running,
      cancelled,
      endedAt,
      perMinute,
      leftMs,
      costUsd,
      tokens: used,
      createdAt,
    }) {
      title.textContent = name === '' ? bid : name;
      const status = cancelled ? 'cancelled' : endedAt === null ? 'running' : 'done';
      badge.textContent = status;
      badge.className = `badge ${status}`;
      bar.style.width = `${total === 0 ? 100 : Math.round((100 * done) / total)}%`;
      const bad = counts.failed + counts.limit + counts.skipped;
      failed.hidden = counts.failed === 0;
      const shown = [`${done} of ${total}`, `${running} running`];
      if (bad > 0) shown.push(`${bad} not completed`);
      if (perMinute !== null) shown.push(`${perMinute.toFixed(1)} a minute`);
      if (leftMs !== null) shown.push(`${duration(leftMs)} left`);
      shown.push(money(costUsd), `${tokens(used)} tokens`, ago(createdAt));
      facts.replaceChildren(...shown.map((fact) => h('span', fact)));
    },
  };
}

function workerRow({ id, host, pid, running, concurrency, done, draining, silentMs, roles }) {
  const state = draining ? 'draining' : running > 0 ? 'running' : 'idle';
  return h(
    'li.session',
    h('span.title', h('strong', `${host} (${pid})`), h(`span.badge.${state}`, state)),
    h(
      'p.facts',
      h('span', `${running} of ${concurrency} busy`),
      h('span', `${done} done`),
      h('span', roles.join(', ')),
      h('span', silentMs < 5000 ? 'alive' : `silent for ${duration(silentMs)}`),
      h('span', oneLine(id, 20)),
    ),
  );
}
