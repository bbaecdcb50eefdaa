// The project's batches and the workers: progress, rate, what is left, the tasks with their sessions, results to download.

import { byId, h } from './dom.js';
import { ago, duration, money, oneLine, tokens } from './format.js';
import { ask, askText } from './net.js';

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
  const tasks = createTasks(bid);
  const download = async () => {
    try {
      const url = URL.createObjectURL(
        new Blob([await askText(`/api/batches/${encodeURIComponent(bid)}/results`)], { type: 'application/x-ndjson' }),
      );
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
    tasks.element,
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
      tasks.changed();
      const shown = [`${done} of ${total}`, `${running} running`];
      if (bad > 0) shown.push(`${bad} not completed`);
      if (perMinute !== null) shown.push(`${perMinute.toFixed(1)} a minute`);
      if (leftMs !== null) shown.push(`${duration(leftMs)} left`);
      shown.push(money(costUsd), `${tokens(used)} tokens`, ago(createdAt));
      facts.replaceChildren(...shown.map((fact) => h('span', fact)));
    },
  };
}

const KINDS = { running: 'running', other: 'not completed', completed: 'completed' };

/** The batch's tasks of one kind, read while they are looked at. Each leads to its session, live or from the archive. */
function createTasks(bid) {
  const list = h('ul.tasks');
  const note = h('p.note', { role: 'status' });
  const kind = h(
    'select',
    { 'aria-label': 'Which tasks', onchange: () => void read() },
    Object.entries(KINDS).map(([value, name]) => h('option', { value }, name)),
  );
  const element = h('details', h('summary', 'Tasks'), h('div.row', kind), note, list);
  let isReading = false;
  let isStale = false;
  const read = async () => {
    isStale = true;
    if (isReading) return;
    isReading = true;
    while (isStale && element.open) {
      isStale = false;
      try {
        const { tasks, total } = await ask(`/api/batches/${encodeURIComponent(bid)}/tasks?kind=${kind.value}`);
        const some = tasks.length < total ? `The first ${tasks.length} of ${total}; the results have all.` : '';
        note.textContent = total === 0 ? `None ${KINDS[kind.value]}.` : some;
        list.replaceChildren(...tasks.map((task) => taskRow(bid, task)));
      } catch (error) {
        note.textContent = error.message === '' ? 'This page is locked.' : error.message;
      }
    }
    isReading = false;
  };
  element.addEventListener('toggle', () => void read());
  return { element, changed: () => element.open && void read() };
}

function taskRow(bid, { id, status, reason, prompt, answer, session, costUsd, steps }) {
  const name =
    session === null
      ? h('strong', id)
      : h('a', { href: `#/s/${[session, bid, id].map(encodeURIComponent).join('/')}` }, id);
  const facts = status === 'running' ? [] : [`${steps} step${steps === 1 ? '' : 's'}`, money(costUsd)];
  const said = status === 'running' || status === 'completed' ? answer : `${reason}. ${answer}`;
  return h(
    'li.note',
    h('span.title', name, h(`span.badge.${status}`, status)),
    h(
      'p.facts',
      [oneLine(prompt, 120), ...facts].map((fact) => h('span', fact)),
    ),
    said.trim() !== '' && h('p', oneLine(said, 200)),
  );
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
