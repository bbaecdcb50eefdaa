// One session: where it is, what it has changed, what waits in it, and its timeline. It follows until it is closed.

import { drawChart } from './chart.js';
import { h } from './dom.js';
import { ago, modelName, money, oneLine, phaseName, tokens } from './format.js';
import { ask, follow, newId } from './net.js';
import { createTimeline, diffView } from './timeline.js';

/** `of`: the batch and the task that it belongs to, or null. Such a one is read and nothing else. */
export function openSession(sid, { chart, of, onLine }) {
  const stop = new AbortController();
  const path = `/api/sessions/${sid}`;
  const query = of === null ? '' : `?${new URLSearchParams(of)}`;
  const title = h('h2', sid);
  const badge = h('span.badge', '…');
  const cancel = h('button.danger', { type: 'button', hidden: true, onclick: () => void stopIt() }, 'Cancel');
  const said = h('p.note.bad', { role: 'alert' });
  const meters = h('dl.meters');
  const chartPlace = h('div.inside', { tabindex: 0, role: 'region', 'aria-label': 'Statechart' });
  const todoList = h('ul.todos');
  const todoPanel = panel('Todos', h('div.inside', todoList), true);
  todoPanel.hidden = true;
  const fileList = h('div.inside');
  const filePanel = panel('Files changed', fileList, false);
  const queueList = h('ul.queue');
  const queuePanel = panel('Queue', h('div.inside', queueList), true);
  queuePanel.hidden = true;
  let drawn = '';
  let queued = -1;
  let filesDue = false;

  const stopIt = async () => {
    cancel.disabled = true;
    try {
      const { asked } = await ask(`${path}/cancel`, {});
      said.textContent = asked ? '' : 'Nothing runs in it.';
    } catch (error) {
      said.textContent = error.message;
    }
    cancel.disabled = false;
  };
  const showFiles = async () => {
    if (!filePanel.open) return;
    const files = await ask(`${path}/files${query}`).catch(() => []);
    fileList.replaceChildren(
      ...(files.length === 0 ? [h('p.note', 'None.')] : []),
      ...files.map(({ path: file, status, added, removed, diff }) =>
        h(
          'details.tool',
          h('summary', h('span.badge', status), h('span.what', file), h('span', `+${added} −${removed}`)),
          h('div', diffView(diff)),
        ),
      ),
    );
  };
  filePanel.addEventListener('toggle', () => void showFiles());
  const filesChanged = () => {
    if (filesDue) return;
    filesDue = true;
    setTimeout(() => {
      filesDue = false;
      void showFiles();
    }, 500);
  };
  const showState = (state) => {
    if (drawn === state) return;
    drawn = state;
    chartPlace.replaceChildren(drawChart(chart, state));
    // On a phone the chart is wider than its place.
    const here = chartPlace.querySelector('.here')?.getBoundingClientRect();
    const place = chartPlace.getBoundingClientRect();
    if (here) chartPlace.scrollLeft += here.left + here.width / 2 - place.left - place.width / 2;
  };
  const showQueue = async () => {
    const waiting = await ask(`${path}/queue`).catch(() => []);
    queuePanel.hidden = waiting.length === 0;
    queueList.replaceChildren(...waiting.map((message) => queueItem(path, message, () => void showQueue())));
  };

  const timeline = createTimeline({
    files: filesChanged,
    todos(todos) {
      todoPanel.hidden = todos.length === 0;
      todoList.replaceChildren(...todos.map(({ content, status }) => h('li', { class: status }, content)));
    },
  });
  const element = h(
    'div',
    h('p.back', h('a', { href: '#/' }, '← All sessions')),
    of !== null && h('p.note', `Task ${of.task} of batch ${of.batch}. Its files are known when it has ended.`),
    h('div.head', title, badge, cancel),
    said,
    meters,
    panel('State', chartPlace, matchMedia('(min-width: 900px)').matches),
    todoPanel,
    filePanel,
    queuePanel,
    timeline.element,
    of === null && compose('Send to this session', (message) => ask(`${path}/send`, message)),
  );
  const take = (type, data) => (type === 'state' ? showState(data) : timeline.take(data));
  void follow(`${path}/events${query}`, { event: take, state: onLine, rests: true }, stop.signal);

  return {
    element,
    close: () => stop.abort(),
    show(session) {
      title.textContent = session.title === '' ? sid : session.title;
      const hasEnded = session.status === 'idle' || (session.status === 'archived' && session.end !== null);
      badge.textContent = hasEnded ? (session.end ?? 'done').replaceAll('_', ' ') : session.status;
      badge.className = `badge ${hasEnded ? (session.end ?? '') : session.status}`;
      cancel.hidden = of !== null || (session.status !== 'running' && session.status !== 'interrupted');
      meters.replaceChildren(...metersOf(session));
      if (of === null && queued !== session.queued) {
        queued = session.queued;
        void showQueue();
      }
    },
  };
}

function panel(name, inside, isOpen) {
  return h('details.panel', { open: isOpen }, h('summary', name), inside);
}

function metersOf(session) {
  const { window, usage } = session;
  const part = window !== null && window.size > 0 ? Math.min(1, window.tokens / window.size) : null;
  const bar = h('span');
  if (part !== null) bar.style.width = `${Math.round(100 * part)}%`;
  const meter = (name, text, more = null) => h('div', h('dt', name), h('dd', text, more));
  return [
    meter('Mode', session.mode ?? '–'),
    meter('Model', modelName(session.model)),
    meter('Phase', phaseName(session.phase)),
    meter('Step', String(session.step)),
    meter(
      'Context',
      part === null ? '–' : `${tokens(window.tokens)} of ${tokens(window.size)}`,
      part === null ? null : h('div.bar', bar),
    ),
    meter('Tokens', `${tokens(usage.input)} in, ${tokens(usage.output)} out`),
    meter('Cost', money(session.costUsd)),
    meter('Queue', String(session.queued)),
    meter('Changed', ago(session.updatedAt)),
  ];
}

function queueItem(path, { seq, mode, body }, changed) {
  const said = h('span.note.bad', { role: 'alert' });
  const act = (what, change) => async () => {
    try {
      await ask(`${path}/queue/${seq}/${what}`, change());
      changed();
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const text = h('textarea', { 'aria-label': `Text of message ${seq}` }, body);
  const item = h('li');
  const edit = () =>
    item.replaceChildren(
      text,
      h('button.main-action', { type: 'button', onclick: act('edit', () => ({ body: text.value })) }, 'Save'),
      said,
    );
  item.append(
    h('span.badge', mode),
    h('span.text', oneLine(body, 200)),
    h('button', { type: 'button', onclick: edit, 'aria-label': `Edit message ${seq}` }, 'Edit'),
    h(
      'button',
      { type: 'button', onclick: act('remove', () => ({})), 'aria-label': `Remove message ${seq}` },
      'Remove',
    ),
    said,
  );
  return item;
}

/** A message to be sent; `send` gets it with an id of its own, so that sending it twice is sending it once. */
export function compose(label, send) {
  const text = h('textarea', { 'aria-label': label, placeholder: label, required: true });
  const mode = h(
    'select',
    { 'aria-label': 'Mode' },
    ['ask', 'plan', 'edit'].map((name) => h('option', { value: name }, name)),
  );
  const button = h('button.main-action', { type: 'submit' }, 'Send');
  const said = h('p.said-no', { role: 'status' });
  let mid = newId();
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.textContent = '';
    try {
      const { position, served } = await send({ mode: mode.value, body: text.value, mid });
      text.value = '';
      mid = newId();
      if (!served) said.textContent = 'No Odin is open in this project to do it. Open one: odin --continue';
      else if (position > 0) said.textContent = `It waits behind ${position}.`;
    } catch (error) {
      said.textContent = error.message;
    }
    button.disabled = false;
  };
  return h('form.compose', { onsubmit: (event) => void submit(event) }, text, h('div.row', mode, button), said);
}
