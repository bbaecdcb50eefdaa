// The agent's statechart as a drawing: a column for each step away from its first state, final states last, the current one lit.

import { svg } from './dom.js';

const BOX = { width: 104, height: 32 };
const GAP = { x: 44, y: 26 };
const MARGIN = 16;
/** Room above the boxes for lines that go far. */
const LANE = 24;

export function drawChart({ states, edges }, current) {
  const places = placesOf(states, edges);
  const columns = Math.max(...[...places.values()].map(({ column }) => column)) + 1;
  const rows = Math.max(...[...places.values()].map(({ row }) => row)) + 1;
  const width = 2 * MARGIN + columns * BOX.width + (columns - 1) * GAP.x;
  const height = 2 * LANE + rows * BOX.height + (rows - 1) * GAP.y;
  const at = (name) => {
    const { column, row } = places.get(name);
    return { x: MARGIN + column * (BOX.width + GAP.x), y: LANE + row * (BOX.height + GAP.y) };
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

/** To a neighbour straight; farther through a lane above or below the boxes, whichever is nearer to where it goes. */
function line(a, b, height) {
  const middle = (place) => place.y + BOX.height / 2;
  if (a.x === b.x) {
    const x = a.x + BOX.width / 2;
    return a.y < b.y ? `M${x} ${a.y + BOX.height}V${b.y}` : `M${x} ${a.y}V${b.y + BOX.height}`;
  }
  const span = (b.x - a.x) / (BOX.width + GAP.x);
  if (Math.abs(span) === 1) {
    const shift = span < 0 ? 8 : 0;
    const [x1, x2] = span > 0 ? [a.x + BOX.width, b.x] : [a.x, b.x + BOX.width];
    const bend = (x2 - x1) / 2;
    const [y1, y2] = [middle(a) + shift, middle(b) + shift];
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  }
  if (span < 0) return `M${a.x + BOX.width / 2} ${a.y}V8H${b.x + BOX.width / 2}V${b.y}`;
  const lane = b.y <= LANE ? 12 : height - 12;
  return `M${a.x + BOX.width} ${middle(a) - 6}h10V${lane}H${b.x - 16}V${middle(b)}H${b.x}`;
}
