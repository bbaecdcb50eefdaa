// One session's events as a list that grows at its end: what was asked and said, steps, calls with their output, what went wrong. What
// it does not know it leaves out.

import { h } from './dom.js';
import { clock, duration, modelName, money, oneLine, phaseName, tokens } from './format.js';

/** Entries on the page; older ones give way. */
const MOST = 800;
const MOST_CHARS = 40_000;

/** `on.todos(todos)`, `on.files()` when files have changed. */
export function createTimeline(on) {
  const list = h('ol.timeline', { 'aria-label': 'Timeline' });
  const tools = new Map();
  const agents = new Map();
  let left = 0;
  let live = null;
  let lastText = '';

  const add = (item) => {
    list.append(item);
    if (list.children.length <= MOST) return;
    if (left === 0) list.prepend(h('li.note'));
    list.children[1].remove();
    left += 1;
    list.firstElementChild.textContent = `${left} earlier entries are not shown here; \`odin sessions show\` has them all.`;
  };
  const note = (text, kind = '') => add(h(`li.note${kind}`, text));
  /** Text that is still coming in. */
  const stream = (kind, delta) => {
    if (live === null || live.kind !== kind) {
      const text = document.createTextNode('');
      const item =
        kind === 'thinking'
          ? h('li', h('details.thinking', h('summary', 'thinking'), h('div', text)))
          : h('li', h('div.said', h('span.who', 'Odin'), text));
      live = { kind, text, item };
      add(item);
    }
    live.text.appendData(delta);
  };
  const settle = () => {
    if (live?.kind === 'text') live.item.remove();
    live = null;
  };

  const views = {
    SessionOpened: (event) => {
      const files = event.instructions.map(({ path, trusted }) => `${path}${trusted ? '' : ' (not trusted)'}`);
      if (files.length > 0) note(`instructions: ${files.join(', ')}`);
    },
    MessageStarted: (event) => {
      lastText = '';
      const who = `you, message ${event.seq}, ${event.mode}, ${modelName(event.model)}, ${clock(event.at)}`;
      add(h('li', h('div.said.asked', h('span.who', who), event.body)));
    },
    StepStarted: ({ step, attempt }) => add(h('li.step', `step ${step}${attempt > 1 ? `, try ${attempt}` : ''}`)),
    StreamText: ({ delta }) => stream('text', delta),
    StreamThinking: ({ delta }) => stream('thinking', delta),
    StepText: ({ text }) => {
      settle();
      lastText = text;
      add(h('li', h('div.said', h('span.who', 'Odin'), cut(text))));
    },
    ToolCallStart: (event) => {
      settle();
      const tool = createTool(event);
      tools.set(event.op, tool);
      add(tool.item);
    },
    ToolProgress: ({ op, text }) => (op === '' ? note(text) : tools.get(op)?.progress(text)),
    ToolCallEnd: (event) => tools.get(event.op)?.ended(event),
    ToolResult: (event) => {
      const tool = tools.get(event.op) ?? createTool({ ...event, args: null });
      if (!tools.has(event.op)) add(tool.item);
      tools.delete(event.op);
      tool.result(event);
      if (event.affectedFiles.length > 0) on.files();
    },
    PhaseChanged: ({ phase }) => note(`phase: ${phaseName(phase)}`),
    TodosChanged: ({ todos }) => on.todos(todos),
    Usage: () => settle(),
    AnswerCut: ({ why }) =>
      note(
        `the answer was ${why === 'empty' ? 'empty' : 'cut off at the output limit'}; it is asked to go on`,
        '.warn',
      ),
    ContextFull: ({ why, tokens: used, window }) =>
      note(`the context is made smaller (${why}): ${tokens(used)} of ${tokens(window)}`, '.warn'),
    ContextCompacted: ({ tokensBefore, tokensAfter, processors }) =>
      note(`context: ${tokens(tokensBefore)} → ${tokens(tokensAfter)} (${processors.join(', ')})`),
    LimitReached: ({ message }) => note(message, '.warn'),
    HookRan: ({ name, outcome, message }) =>
      note(`hook ${name} ${outcome}: ${message}`, outcome === 'denied' || outcome === 'failed' ? '.warn' : ''),
    RetryScheduled: ({ code, message, attempt, attempts }) =>
      note(`${code}: ${message} Try ${attempt} of ${attempts} follows.`, '.warn'),
    ModelChanged: ({ from, to, code }) => note(`${from} is unavailable (${code}); ${to} is asked`, '.warn'),
    PermissionAsked: ({ title }) => note(`asks: ${title}`, '.warn'),
    PermissionAnswered: ({ decision, by }) => note(`answer: ${decision.replaceAll('_', ' ')}, by ${by}`),
    CancelRequested: ({ by }) => note(`asked to stop, by ${by}`, '.warn'),
    AgentError: ({ code, message }) => note(`${code}: ${message}`, '.bad'),
    AgentDone: (event) => {
      settle();
      if (event.answer !== '' && event.answer.trim() !== lastText.trim()) {
        add(h('li', h('div.said', h('span.who', 'Odin'), cut(event.answer))));
      }
      const { usage, status } = event;
      add(
        h(
          'li.ended',
          h(
            `span.badge.${status === 'completed' ? 'completed' : status === 'planner_failure' ? 'bad' : 'limit'}`,
            status.replaceAll('_', ' '),
          ),
          h(
            'span.facts',
            h('span', `${event.steps} step${event.steps === 1 ? '' : 's'}`),
            h('span', `${tokens(usage.input)} in (${tokens(usage.cacheRead)} from cache), ${tokens(usage.output)} out`),
            h('span', money(event.costUsd)),
          ),
        ),
      );
    },
  };
  /** A subagent's own events are in a timeline of its own, where it began. */
  const take = (event) => {
    if (event.type === 'AgentSpawned') {
      const agent = createAgent(event);
      agents.set(event.agent, agent);
      add(agent.item);
    } else if (event.type !== 'PermissionAsked' && agents.has(event.agent)) agents.get(event.agent).take(event);
    else if (Object.hasOwn(views, event.type)) views[event.type](event);
  };
  let waiting = [];
  const draw = () => {
    const events = waiting;
    waiting = [];
    // Who reads the end goes on reading the end.
    const page = document.documentElement;
    const isAtEnd = page.scrollTop > 0 && page.scrollTop + innerHeight > page.scrollHeight - 60;
    for (const event of events) take(event);
    if (isAtEnd) scrollTo(0, page.scrollHeight);
  };
  return {
    element: list,
    /** What comes between two frames is drawn at once. */
    take(events) {
      if (waiting.length === 0) requestAnimationFrame(draw);
      waiting.push(...events);
    },
  };
}

function createAgent({ title, kind, mode, model, prompt }) {
  const badge = h('span.badge.running', 'runs');
  const what = h('span.what', `${mode}, ${modelName(model)}`);
  const todos = h('ul.todos');
  const own = createTimeline({
    files() {},
    todos: (list) => todos.replaceChildren(...list.map(({ content, status }) => h('li', { class: status }, content))),
  });
  const name = kind === null ? title : `${title} (${kind})`;
  const body = h(
    'div',
    h('h3', 'Asked for'),
    h('pre', { tabindex: 0, 'aria-label': 'Asked for' }, cut(prompt)),
    todos,
    own.element,
  );
  return {
    item: h('li', h('details.tool.agent', h('summary', badge, h('strong', `Agent: ${name}`), what), body)),
    take(event) {
      if (event.type === 'AgentProgress') {
        what.textContent = oneLine(
          `step ${event.step}: ${event.doing} · ${tokens(event.tokens)} tokens, ${money(event.costUsd)}`,
        );
      } else if (event.type === 'AgentEnded') {
        badge.textContent = `${event.end.replaceAll('_', ' ')} · ${duration(event.durationMs)}`;
        badge.className = `badge ${event.end === 'completed' ? 'ok' : 'limit'}`;
        if (event.answer !== '')
          body.append(h('h3', 'Answer'), h('pre', { tabindex: 0, 'aria-label': 'Answer' }, cut(event.answer)));
      } else own.take([event]);
    },
  };
}

function createTool({ tool, args }) {
  const badge = h('span.badge.running', 'runs');
  const what = h('span.what', oneLine(argsLine(args)));
  const body = h('div');
  const details = h('details.tool', h('summary', badge, h('strong', tool), what), body);
  if (args !== null) body.append(h('h3', 'Arguments'), argsView(args));
  let progress = null;
  return {
    item: h('li', details),
    progress(text) {
      progress ??= body.appendChild(h('pre', { tabindex: 0, 'aria-label': 'Progress' }));
      progress.textContent = text.slice(-MOST_CHARS);
    },
    ended({ status, durationMs }) {
      badge.textContent = `${status} · ${duration(durationMs)}`;
      badge.className = `badge ${status}`;
    },
    result({ status, description, text }) {
      progress?.remove();
      if (badge.textContent === 'runs') {
        badge.textContent = status;
        badge.className = `badge ${status}`;
      }
      if (description !== '') what.textContent = oneLine(description);
      body.append(
        h('h3', 'Result'),
        isDiff(text) ? diffView(text) : h('pre', { tabindex: 0, 'aria-label': 'Result' }, cut(text)),
      );
    },
  };
}

function argsLine(args) {
  if (args === null || typeof args !== 'object') return String(args ?? '');
  return String(
    args.command ?? args.file_path ?? args.path ?? args.pattern ?? args.url ?? Object.values(args)[0] ?? '',
  );
}

/** Long texts as they are, the rest as JSON. */
function argsView(args) {
  if (typeof args !== 'object') return h('pre', { tabindex: 0, 'aria-label': 'Arguments' }, cut(String(args)));
  return h(
    'pre',
    { tabindex: 0, 'aria-label': 'Arguments' },
    cut(JSON.stringify(args, null, 2).replaceAll('\\n', '\n').replaceAll('\\"', '"')),
  );
}

export const isDiff = (text) => /^@@ .*@@/m.test(text);

export function diffView(text, most = MOST_CHARS) {
  const kindOf = (line) => {
    if (/^(?:@@|--- |\+\+\+ )/.test(line)) return 'at';
    return line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : 'same';
  };
  const lines = cut(text, most)
    .split('\n')
    .map((line) => h(`span.${kindOf(line)}`, line === '' ? ' ' : line));
  return h('pre.diff', { tabindex: 0, 'aria-label': 'Changes' }, lines);
}

const cut = (text, most = MOST_CHARS) =>
  text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text;
