// What shows how Odin fares: `odin dashboard`, `logs`, `stats`, for program.ts.

import { type Command, Option } from 'commander';
import { wholeNumber, wholeNumberOrZero } from './budget-options.ts';
import type { DashboardCommandOptions } from './commands/dashboard.ts';
import type { LogsOptions } from './commands/logs.ts';
import type { StatsOptions } from './commands/stats.ts';
import { jsonOption, type Settle } from './option-parts.ts';

export function addWatching(program: Command, settle: Settle): void {
  program
    .command('dashboard')
    .description('serve a page that shows the sessions of this project live, and answers and sends; prints its link')
    .addOption(
      new Option('--port <n>', 'where it listens; 0: any that is free').argParser(wholeNumberOrZero).default(4646),
    )
    .option('--host <name>', 'another name than 127.0.0.1 by which it is reached; needs --tls-cert and --tls-key')
    .option('--tls-cert <file>', 'certificate, PEM')
    .option('--tls-key <file>', 'its key, PEM')
    .option('--allow-queue-actions', 'let /queues retry, promote and remove jobs, not only show them')
    .action(async (options: DashboardCommandOptions) => {
      await settle((await import('./commands/dashboard.ts')).dashboard(options));
    });
  program
    .command('logs')
    .description('what Odin has logged; it logs while ODIN_LOG is set where it runs')
    .option('-f, --follow', 'and what it logs from now on, until Ctrl-C')
    .option('-s, --session <id>', 'only lines about one session: its id, or the beginning of it')
    .addOption(
      new Option('--level <level>', 'this level and above')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('debug'),
    )
    .addOption(jsonOption('the lines as they are'))
    .action(async (options: LogsOptions) => {
      await settle((await import('./commands/logs.ts')).logs(options));
    });
  program
    .command('stats')
    .description('tokens, money, how tools fared and what caches spared, by day, model and project')
    .addOption(new Option('--days <n>', 'so many days, today the last').argParser(wholeNumber).default(30))
    .option('--all', 'all projects, not only this one')
    .addOption(jsonOption('the report as one object'))
    .action(async (options: StatsOptions) => {
      await settle((await import('./commands/stats.ts')).stats(options));
    });
}
