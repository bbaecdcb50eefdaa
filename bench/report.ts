// What every benchmark gives back and how it is printed (ARCHITECTURE 11): figures, ratios against the floor measured in the
// same run, goals, and whether they were met. A figure that could not be taken is null with a reason, and then nothing is met.

export interface Goal {
  readonly name: string;
  readonly limit: number;
  readonly actual: number | null;
  readonly unit: string;
  readonly met: boolean;
  /** Why `actual` is null. */
  readonly reason?: string;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly odin: number | null;
  readonly floor: number | null;
}

export interface BenchReport {
  readonly name: string;
  readonly figures: readonly Figure[];
  readonly ratios: Readonly<Record<string, number | null>>;
  readonly goals: readonly Goal[];
  readonly met: boolean;
}

/** A goal that is met when `actual` is at most `limit`. */
export function atMost(name: string, actual: number | null, limit: number, unit: string, reason?: string): Goal {
  const met = actual !== null && actual <= limit;
  return { name, limit, actual: round(actual), unit, met, ...(reason === undefined ? {} : { reason }) };
}

export function report(name: string, figures: readonly Figure[], goals: readonly Goal[]): BenchReport {
  const ratios = Object.fromEntries(
    figures.map(({ name: figure, odin, floor }) => [figure, odin !== null && floor ? round(odin / floor) : null]),
  );
  const rounded = figures.map((figure) => ({ ...figure, odin: round(figure.odin), floor: round(figure.floor) }));
  return { name, figures: rounded, ratios, goals, met: goals.length > 0 && goals.every((goal) => goal.met) };
}

export function printTable(bench: BenchReport, write: (line: string) => void): void {
  const width = 2 + Math.max(38, ...bench.figures.map(({ name }) => name.length));
  const row = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(i === 0 ? width : 12))
      .join('')
      .trimEnd();
  write(`bench ${bench.name}`);
  write(row(['figure', 'odin', 'floor', 'ratio', 'unit']));
  for (const figure of bench.figures) {
    const ratio = bench.ratios[figure.name];
    write(
      row([
        figure.name,
        show(figure.odin),
        show(figure.floor),
        ratio === null || ratio === undefined ? '-' : `${ratio}x`,
        figure.unit,
      ]),
    );
  }
  write('');
  for (const goal of bench.goals) {
    const actual =
      goal.actual === null ? `not taken: ${goal.reason ?? 'no reason given'}` : `${goal.actual} ${goal.unit}`;
    write(`${goal.met ? 'met    ' : 'NOT met'}  ${goal.name}: ${actual} (goal: at most ${goal.limit} ${goal.unit})`);
  }
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

const show = (value: number | null): string => (value === null ? '-' : String(value));
const round = (value: number | null): number | null =>
  value === null ? null : Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
