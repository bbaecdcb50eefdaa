// The page: logs in, follows the overview, and shows the session that the address names.

import { byId, h } from './dom.js';
import { showFigures } from './figures.js';
import { showFleet } from './fleet.js';
import { ask, follow, Locked, logIn, newId } from './net.js';
import { createOverview } from './overview.js';
import { compose, openSession } from './session.js';

const EMPTY = () => h('p.empty', 'Open a session to see what it does.');

await logIn().catch(() => {});

let shown = null;
const view = newId();
const overview = createOverview({
  view,
  opened: () => shown?.sid ?? null,
  changed: (session) => shown?.view.show(session),
});
const lines = { overview: 'away', session: 'live' };

function line(which, state) {
  lines[which] = state;
  const worst = ['locked', 'away', 'live'].find((one) => Object.values(lines).includes(one));
  const place = byId('line');
  place.className = `line ${worst}`;
  place.textContent = { locked: 'locked', away: 'connecting', live: 'live' }[worst];
  if (worst === 'locked') lock();
}

function lock() {
  byId('panes').replaceChildren(
    h(
      'main.locked-note',
      h('h2', 'This page is locked'),
      h(
        'p',
        'Open the link that `odin dashboard` has printed in its terminal. It works once; the next one is printed when it has been used.',
      ),
    ),
  );
}

function route(chart) {
  // A task of a batch has its session elsewhere: the address says whose it is.
  const [, sid = null, batch, task] =
    /^#\/s\/([0-9A-Z]{26})(?:\/([^/]+)\/([^/]+))?$/.exec(location.hash)?.map((one) => one && decodeURIComponent(one)) ??
    [];
  const of = batch === undefined ? null : { batch, task };
  if (sid === (shown?.sid ?? null)) return;
  shown?.view.close();
  line('session', 'live');
  shown =
    sid === null ? null : { sid, view: openSession(sid, { chart, of, onLine: (state) => line('session', state) }) };
  const main = byId('main');
  main.replaceChildren(shown?.view.element ?? EMPTY());
  byId('panes').classList.toggle('show-session', sid !== null);
  const session = sid === null ? undefined : overview.get(sid);
  if (session) shown.view.show(session);
  if (sid !== null) main.focus({ preventScroll: true });
  overview.redraw();
}

async function start() {
  const { root, chart } = await ask('/api/about');
  byId('root').textContent = root;
  byId('new').append(
    compose('What to do', async (message) => {
      const sent = await ask('/api/sessions', message);
      location.hash = `#/s/${sent.sid}`;
      return sent;
    }),
  );
  addEventListener('hashchange', () => route(chart));
  route(chart);
  void follow(
    `/api/events?view=${view}`,
    {
      event(type, data) {
        if (type === 'figures') showFigures(byId('figures'), data);
        else if (type === 'fleet') showFleet(data);
        else overview.take(data);
      },
      state(state) {
        line('overview', state);
        if (state === 'live') overview.tellAgain();
      },
    },
    new AbortController().signal,
  );
}

for (let isThere = false; !isThere; ) {
  try {
    await start();
    isThere = true;
  } catch (error) {
    if (error instanceof Locked) {
      line('overview', 'locked');
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
