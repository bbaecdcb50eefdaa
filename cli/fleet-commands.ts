// `odin batch`, `odin worker` and `odin workers` with their options, for program.ts.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { MODES, type Mode } from '../shared/modes.ts';
import { tokensOption, usdOption, wholeNumber, wholeNumberOrZero } from './budget-options.ts';
import type { RunTasksOptions, SubmitBatchOptions } from './commands/batch.ts';
import type { ResultsOptions } from './commands/batch-results.ts';
import type { WorkerOptions, WorkerRole } from './commands/worker.ts';
import { jsonOption, repeated, type Settle } from './option-parts.ts';

const BATCH_HELP = 'id of a batch, the beginning of one, or "last"';

function workerRoles(text: string): readonly WorkerRole[] {
  const roles = text.split(',').map((role) => role.trim());
  if (roles.every((role): role is WorkerRole => role === 'agents' || role === 'batch')) return roles;
  throw new InvalidArgumentError('Roles are agents and batch, with a comma between them.');
}

/** For the commands that may run tasks themselves. */
const runOptions = (command: Command, runHelp: string): Command =>
  command
    .addOption(new Option('--run <n>', runHelp).argParser(wholeNumberOrZero))
    .option('--model <provider/name>', 'the model of tasks that name none')
    .option('--small-model <provider/name>', 'the lesser model for small jobs')
    .addOption(
      new Option(
        '--permission <who>',
        'for tasks that run here: accept-edits lets them write files, deny nothing (default: accept-edits)',
      ).choices(['deny', 'accept-edits']),
    )
    .addOption(
      new Option(
        '--allow <command>',
        'tasks that run here may run commands that begin like this; may be repeated',
      ).argParser(repeated),
    )
    .addOption(jsonOption('at the end, how the batch stands as one object'));

export function addBatch(program: Command, settle: Settle, version: string): void {
  const batch = program
    .command('batch')
    .description('many tasks from a file, each in a session and a working copy of its own');
  runOptions(
    batch
      .command('submit')
      .description('check a file of tasks and run them; the same file again runs only what is not done')
      .argument('<file>', 'tasks as JSON lines or YAML (docs/batch.md); "-" reads stdin')
      .option('--id <id>', 'a name for the batch (default: made from its tasks)')
      .addOption(
        new Option('-m, --mode <mode>', 'for tasks that name none (default: defaultMode of the settings)').choices([
          ...MODES,
        ]),
      )
      .addOption(usdOption())
      .addOption(tokensOption())
      .option('-d, --detach', 'only queue them: workers run them'),
    'run so many tasks at a time in this process (default: 4, or 0 when a worker is there)',
  ).action(async (file: string, options: SubmitBatchOptions & { mode?: Mode }) => {
    await settle((await import('./commands/batch.ts')).submitBatch(file, options, version));
  });
  runOptions(
    batch.command('watch').description('follow a batch to its end; Ctrl-C leaves it').argument('<batch>', BATCH_HELP),
    'also run so many tasks at a time in this process (default: 0)',
  ).action(async (wanted: string, options: RunTasksOptions) => {
    await settle((await import('./commands/batch.ts')).watchBatch(wanted, options, version));
  });
  runOptions(
    batch
      .command('retry')
      .description('begin anew what was not completed, and only that')
      .argument('<batch>', BATCH_HELP)
      .option('-d, --detach', 'only queue them: workers run them'),
    'run so many tasks at a time in this process (default: 4, or 0 when a worker is there)',
  ).action(async (wanted: string, options: RunTasksOptions & { detach?: boolean }) => {
    await settle((await import('./commands/batch.ts')).retryBatch(wanted, options, version));
  });
  batch
    .command('status')
    .description('how a batch stands, and what was not completed')
    .argument('<batch>', BATCH_HELP)
    .addOption(jsonOption('one object'))
    .action(async (wanted: string, options: { json?: boolean }) => {
      await settle((await import('./commands/batch-results.ts')).batchStatus(wanted, options));
    });
  batch
    .command('results')
    .description('what came of the tasks that are done: JSON lines, patches, changes')
    .argument('<batch>', BATCH_HELP)
    .option('--out <folder>', 'write results.jsonl and a patch for each task there')
    .addOption(
      new Option('--apply', 'apply the changes of completed tasks to the files of their repositories').conflicts(
        'branch',
      ),
    )
    .option('--branch <prefix>', 'make a branch of the changes of each completed task; no file is touched')
    .action(async (wanted: string, options: ResultsOptions) => {
      await settle((await import('./commands/batch-results.ts')).batchResults(wanted, options));
    });
  batch
    .command('cancel')
    .description('cancel what runs and what waits in a batch')
    .argument('<batch>', BATCH_HELP)
    .action(async (wanted: string) => {
      await settle((await import('./commands/batch-results.ts')).cancelBatch(wanted));
    });
  batch
    .command('list', { isDefault: true })
    .description('all batches, newest first')
    .addOption(jsonOption('one object a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/batch-results.ts')).listBatches(options));
    });
}

export function addWorkers(program: Command, settle: Settle, version: string): void {
  program
    .command('worker')
    .description('take tasks of batches, and subagents of other Odins, until it is told to stop (docs/workers.md)')
    .addOption(
      new Option(
        '--roles <roles>',
        'what it takes: agents, batch, or both with a comma (default: worker.roles of the settings, else batch)',
      ).argParser(workerRoles),
    )
    .addOption(
      new Option(
        '--concurrency <n>',
        'tasks at a time (default: worker.concurrency of the settings, else 4)',
      ).argParser(wholeNumber),
    )
    .addOption(
      new Option(
        '--repo <folder>',
        'a project it takes tasks of; may be repeated (default: worker.repos of the settings, else this one)',
      ).argParser(repeated),
    )
    .option('--key-file <file>', 'the key of the machine that submits (default: job-key in the state folder)')
    .addOption(
      new Option('--drain <seconds>', 'how long tasks may go on when it is told to stop (default: 30)').argParser(
        wholeNumberOrZero,
      ),
    )
    .option('--model <provider/name>', 'the model of tasks that name none')
    .option('--small-model <provider/name>', 'the lesser model for small jobs')
    .action(async (options: WorkerOptions) => {
      await settle((await import('./commands/worker.ts')).work(options, version));
    });
  program
    .command('workers')
    .description('which workers there are, where, and what they do')
    .addOption(jsonOption('one object a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/workers.ts')).listWorkers(options));
    });
}
