// `odin stats`: tokens, money, how tools fared and what caches have spared, by day, model and project (SPEC E16).

import type { ToolRow, UsageReport, UsageRow } from '../../orchestrator/watch/usage-rows.ts';
import { countText, usdText } from '../../shared/amount-text.ts';
import { cleanLine } from '../../shared/clean-text.ts';
import { EXIT } from '../exit-codes.ts';
import { placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { table } from '../table.ts';

export interface StatsOptions {
  readonly days: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;

export async function stats({ days, all, json }: StatsOptions): Promise<number> {
  const place = placeHere();
  const { connectRedis } = await import('../../orchestrator/redis.ts');
  const { usageReport } = await import('../../orchestrator/watch/usage-rows.ts');
  const { workspaceId } = await import('../../orchestrator/keys.ts');
  const report = await withOdin(place, null, async (odin) => {
    const { home, redisUrl } = place;
    const redis = await connectRedis({ home, notice: () => {}, ...(redisUrl === undefined ? {} : { redisUrl }) });
    try {
      const today = new Date().setHours(0, 0, 0, 0);
      return await usageReport({
        ...{ redis: redis.client, home, rates: odin.rates, sinceMs: today - (days - 1) * DAY_MS },
        ...(all === true ? {} : { only: { root: odin.root, ws: workspaceId(odin.root, redis.scope) } }),
      });
    } finally {
      await redis.close();
    }
  });
  if (json === true) process.stdout.write(jsonLine(report));
  else printReport(report, days);
  return EXIT.completed;
}

function printReport(report: UsageReport, days: number): void {
  const { models, tools, sessions, messages, damaged } = report;
  const span = days === 1 ? 'today' : `in the last ${days} days`;
  if (models.length + tools.length === 0) process.stderr.write(`Nothing was used ${span}.\n`);
  else {
    process.stdout.write(`${sessions} sessions, ${messages} messages ${span}\n`);
    const modelRows = models.map(modelCells);
    process.stdout.write(
      `\n${table([['DAY', 'INPUT', 'CACHED', 'OUTPUT', 'CALLS', 'COST', 'SPARED', 'MODEL', 'PROJECT'], ...modelRows])}`,
    );
    process.stdout.write(
      `\n${table([['DAY', 'CALLS', 'OK', 'TIME', 'REUSED', 'SPARED', 'TOOL', 'PROJECT'], ...tools.map(toolCells)])}`,
    );
  }
  for (const sid of damaged)
    process.stderr.write(`The archive of session ${sid} cannot be read. \`odin fsck\` says more.\n`);
}

/** The price of some calls may not be known: then the sum says so. */
function modelCells(row: UsageRow): readonly string[] {
  const { day, project, model, calls, usage, costUsd, unpriced, savedUsd } = row;
  const cost = unpriced === calls ? 'not known' : `${usdText(costUsd)}${unpriced > 0 ? ` + ${unpriced} calls` : ''}`;
  const cached = usage.input === 0 ? '–' : `${Math.round((100 * usage.cacheRead) / usage.input)}%`;
  return [
    ...[day, countText(usage.input), cached, countText(usage.output), String(calls), cost],
    ...[unpriced === calls ? '–' : usdText(savedUsd), cleanLine(model, 60), cleanLine(project)],
  ];
}

function toolCells({ day, project, tool, calls, ok, totalMs, cached, savedMs }: ToolRow): readonly string[] {
  return [
    ...[day, String(calls), `${Math.round((100 * ok) / calls)}%`, secondsText(totalMs)],
    ...[String(cached), secondsText(savedMs), cleanLine(tool, 60), cleanLine(project)],
  ];
}

const secondsText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
