// The agent's statechart as a drawing: a column for each step away from its first state, final states last, the current one lit.

import { svg } from './dom.js';

const BOX = { width: 104, height: 32 };
const GAP = { x: 44, y: 26 };
const MARGIN = 16;

export function drawChart({ states, edges }, current) {
  const places = placesOf(states, edges);
  const columns = Math.max(...[...places.values()].map(({ column }) => column)) + 1;
  const rows = Math.max(...[...places.values()].map(({ row }) => row)) + 1;
  const width = 2 * MARGIN + columns * BOX.width + (columns - 1) * GAP.x;
  const height = 2 * MARGIN + rows * BOX.height + (rows - 1) * GAP.y + 24;
  const at = (name) => {
    const { column, row } = places.get(name);
    return { x: MARGIN + column * (BOX.width + GAP.x), y: MARGIN + row * (BOX.height + GAP.y) };
  };
  const arrow = svg(
    'marker',
    { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    svg('path', { d: 'M0 0 8 4 0 8z' }),
  );
  const lines = edges
    .filter(({ from, to }) => from !== to)
    .toSorted((a, b) => (a.from === current) - (b.from === current))
    .map(({ from, to, events }) =>
      svg(
        'path',
        {
          d: line(at(from), at(to), height),
          'marker-end': 'url(#arrow)',
          class: from === current ? 'from-here' : null,
        },
        svg('title', `${from} → ${to}${events.length > 0 ? `: ${events.join(', ')}` : ''}`),
      ),
    );
  const boxes = states.map(({ name, isFinal }) => {
    const { x, y } = at(name);
    return svg(
      'g',
      { class: name === current ? 'here' : null },
      svg('rect', { x, y, width: BOX.width, height: BOX.height, rx: isFinal ? 16 : 6 }),
      svg('text', { x: x + BOX.width / 2, y: y + BOX.height / 2 + 5 }, name),
    );
  });
  const label = `The agent's states; it is in the state ${current}.`;
  return svg(
    'svg',
    { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    svg('defs', arrow),
    lines,
    boxes,
  );
}

function placesOf(states, edges) {
  const depth = new Map([[states[0].name, 0]]);
  const isFinal = new Set(states.filter((state) => state.isFinal).map(({ name }) => name));
  for (const name of depth.keys()) {
    for (const { from, to } of edges) {
      if (from === name && !depth.has(to) && !isFinal.has(to)) depth.set(to, depth.get(name) + 1);
    }
  }
  const last = Math.max(...depth.values()) + 1;
  const used = new Map();
  return new Map(
    states.map(({ name }) => {
      const column = isFinal.has(name) ? last : (depth.get(name) ?? last);
      const row = used.get(column) ?? 0;
      used.set(column, row + 1);
      return [name, { column, row }];
    }),
  );
}

/** Ahead from side to side, back below the boxes, within a column from edge to edge. */
function line(a, b, height) {
  const middle = (place) => place.y + BOX.height / 2;
  if (a.x === b.x) {
    const x = a.x + BOX.width / 2;
    return a.y < b.y ? `M${x} ${a.y + BOX.height}V${b.y}` : `M${x} ${a.y}V${b.y + BOX.height}`;
  }
  if (a.x < b.x) {
    const [x1, x2] = [a.x + BOX.width, b.x];
    const bend = Math.min(60, (x2 - x1) / 2);
    return `M${x1} ${middle(a)}C${x1 + bend} ${middle(a)} ${x2 - bend} ${middle(b)} ${x2} ${middle(b)}`;
  }
  const [x1, x2] = [a.x + BOX.width / 2, b.x + BOX.width / 2];
  const below = Math.min(height - 4, Math.max(a.y, b.y) + BOX.height + 26);
  return `M${x1} ${a.y + BOX.height}C${x1} ${below} ${x2} ${below} ${x2} ${b.y + BOX.height}`;
}
