// The list of sessions and the questions that wait: kept by id, so that a change touches what it is about and nothing that is being used.

import { byId, h } from './dom.js';
import { ago, modelName, money, phaseName, tokens } from './format.js';
import { ask } from './net.js';
import { createSight } from './sight.js';
import { diffView, isDiff } from './timeline.js';

/** Rows on the page at once; the filter finds the rest. */
const MOST_ROWS = 150;

const STATUS_NAMES = {
  idle: 'done',
  running: 'running',
  queued: 'waiting',
  interrupted: 'interrupted',
  archived: 'archived',
};

/** `view` names this page to the server; `opened()` is the session that is shown; `changed(session)` is told what is new of it. */
export function createOverview({ view, opened, changed }) {
  const sessions = new Map();
  const rows = new Map();
  const cards = new Map();
  let questions = [];
  let complete = false;
  let due = false;
  const filter = byId('filter');
  filter.addEventListener('input', () => later());

  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      draw();
    });
  };

  const sight = createSight(view, later);

  /** A guest is a task's session that somebody has opened. */
  const listed = () => [...sessions.values()].filter(({ isGuest }) => !isGuest);
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asks = new Set(questions.map(({ sid }) => sid));
    const found = listed()
      .filter((session) => words.every((word) => searchText(session).includes(word)))
      .sort((a, b) => asks.has(b.sid) - asks.has(a.sid) || b.updatedAt - a.updatedAt);
    const shown = found.slice(0, MOST_ROWS);
    const list = byId('sessions');
    const wanted = new Set(shown.map(({ sid }) => sid));
    for (const [sid, row] of rows) {
      if (wanted.has(sid)) continue;
      sight.remove(sid, row.item);
      row.item.remove();
      rows.delete(sid);
    }
    shown.forEach((session, i) => {
      const { sid } = session;
      const known = rows.get(sid);
      const row = known ?? createRow(sid);
      rows.set(sid, row);
      if (!known) sight.add(sid, row.item);
      if (!known || sight.has(sid)) row.show(session, asks.has(sid), opened() === sid);
      if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] ?? null);
    });
    byId('counts').textContent = countText(listed(), found.length, shown.length, complete);
  };

  const drawQuestions = () => {
    const place = byId('questions');
    const wanted = new Set(questions.map(({ id }) => id));
    for (const [id, card] of cards) {
      if (wanted.has(id)) continue;
      card.element.remove();
      cards.delete(id);
    }
    for (const question of questions) {
      const card = cards.get(question.id);
      if (card) card.nonce = question.nonce;
      else {
        const made = createQuestion(question, () => sessions.get(question.sid)?.title ?? question.sid);
        cards.set(question.id, made);
        place.append(made.element);
      }
    }
    place.hidden = questions.length === 0;
    document.title = questions.length === 0 ? 'Odin' : `(${questions.length}) Odin`;
  };

  return {
    get: (sid) => sessions.get(sid),
    redraw: later,
    tellAgain: sight.tellAgain,
    take(data) {
      complete = data.complete;
      if (data.all) sessions.clear();
      for (const sid of data.gone) sessions.delete(sid);
      for (const session of data.sessions) {
        sessions.set(session.sid, session);
        if (session.sid === opened()) changed(session);
      }
      if (data.questions) {
        questions = data.questions;
        drawQuestions();
      }
      later();
    },
  };
}

const searchText = ({ title, status, model, mode, phase, sid }) =>
  `${title} ${status} ${STATUS_NAMES[status]} ${model} ${mode} ${phase} ${sid}`.toLowerCase();

function countText(sessions, found, shown, complete) {
  const running = sessions.filter(({ status }) => status === 'running').length;
  const queued = sessions.reduce((sum, session) => sum + session.queued, 0);
  const all = `${sessions.length} session${sessions.length === 1 ? '' : 's'}, ${running} running, ${queued} waiting message${queued === 1 ? '' : 's'}`;
  const some = shown < found ? ` · the newest ${shown} of ${found} are shown` : '';
  return `${all}${some}${complete ? '' : ' · reading…'}`;
}

function createRow(sid) {
  let shownRev = '';
  const title = h('strong');
  const badge = h('span.badge');
  const facts = h('span.facts');
  const link = h('a.session', { href: `#/s/${sid}` }, h('span.title', title, badge), facts);
  const item = h('li', link);
  return {
    item,
    show(session, asks, isOpen) {
      const rev = `${session.rev} ${asks} ${isOpen} ${ago(session.updatedAt)}`;
      if (rev === shownRev) return;
      shownRev = rev;
      title.textContent = session.title === '' ? '(no text)' : session.title;
      badge.textContent = asks ? 'asks you' : (STATUS_NAMES[session.status] ?? session.status);
      badge.className = `badge ${asks ? 'asks' : session.status}`;
      facts.replaceChildren(...factsOf(session).map((fact) => h('span', fact)));
      if (isOpen) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    },
  };
}

function factsOf(session) {
  const { status, mode, model, phase, step, window, costUsd, queued, todos, updatedAt, isRead } = session;
  if (mode === null && status === 'archived') return ['in the archive', isRead ? money(costUsd) : '…', ago(updatedAt)];
  if (mode === null) return [isRead ? 'not started' : '…', ago(updatedAt)];
  const facts = [mode, modelName(model)];
  if (status === 'running' || status === 'interrupted') facts.push(phaseName(phase), `step ${step}`);
  if (window !== null && window.size > 0)
    facts.push(`${Math.round((100 * window.tokens) / window.size)}% of ${tokens(window.size)}`);
  facts.push(money(costUsd));
  if (todos.all > 0) facts.push(`${todos.done}/${todos.all} todos`);
  if (queued > 0) facts.push(`${queued} in queue`);
  facts.push(ago(updatedAt));
  return facts;
}

function createQuestion(question, titleOf) {
  const said = h('p.note.bad', { role: 'alert' });
  const word = h('input', {
    type: 'text',
    'aria-label': 'What it should know',
    placeholder: 'why not, for the model (optional)',
  });
  const answer = async (decision) => {
    for (const button of buttons) button.disabled = true;
    try {
      const more = decision === 'deny' && word.value.trim() !== '' ? { word: word.value } : {};
      await ask(`/api/questions/${encodeURIComponent(question.id)}/answer`, { decision, nonce: card.nonce, ...more });
      said.textContent = 'Sent.';
    } catch (error) {
      said.textContent = error.message === '' ? 'This page is locked.' : error.message;
      for (const button of buttons) button.disabled = false;
    }
  };
  const button = (text, decision, kind = 'button') =>
    h(kind, { type: 'button', onclick: () => void answer(decision) }, text);
  const buttons = [
    button('Allow once', 'allow', 'button.main-action'),
    button('For this session', 'allow_session'),
    ...(question.rule === undefined ? [] : [button(`Always: ${question.rule}`, 'allow_always')]),
    button('Deny', 'deny', 'button.danger'),
  ];
  const expiry =
    question.expiresAt === undefined
      ? ''
      : `, denied if nobody answers by ${new Date(question.expiresAt).toLocaleTimeString()}`;
  const outside = (question.paths ?? []).filter((path) => path.outside);
  const reasons = [...question.reasons, ...outside.map(({ path, why }) => `outside the project: ${path} (${why})`)];
  const element = h(
    'article.question',
    h('h2', question.title),
    reasons.length > 0 &&
      h(
        'ul',
        reasons.map((reason) => h('li', reason)),
      ),
    question.detail !== '' &&
      (isDiff(question.detail)
        ? diffView(question.detail, question.detail.length)
        : h('pre', { tabindex: 0, 'aria-label': 'What it is about' }, question.detail)),
    h('p.about', `${question.agent ?? 'main'} asks in `, h('a', { href: `#/s/${question.sid}` }, titleOf()), expiry),
    h('div.buttons', buttons),
    h('div.word', word),
    said,
  );
  const card = { element, nonce: question.nonce };
  return card;
}
