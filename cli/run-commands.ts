// `odin run` and the commands about one session's messages, with their options, for program.ts.

import { Argument, type Command, Option } from 'commander';
import { nearestName } from '../orchestrator/nearest-name.ts';
import { UserError } from '../shared/outcome.ts';
import { stepsOption, timeOption, tokensOption, usdOption, wholeNumber } from './budget-options.ts';
import type { CompactOptions } from './commands/compact.ts';
import type { RunOptions } from './commands/run.ts';
import type { SendOptions } from './commands/send.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import {
  fallbackOption,
  imageOption,
  jsonOption,
  modeOption,
  repeated,
  SESSION_HELP,
  type Settle,
} from './option-parts.ts';
import { PERMISSION_MODES } from './permission-options.ts';

export function addRun(program: Command, settle: Settle): void {
  program
    .command('run', { isDefault: true })
    .description('run one message and print its answer; without a prompt, ask for messages (the default command)')
    .argument('[prompt...]', 'what to do; "-" reads it from stdin, as does a pipe when there is no prompt')
    .addOption(modeOption())
    .option('--model <provider/name>', 'the model that plans and answers')
    .option('--small-model <provider/name>', 'the lesser model for small jobs')
    .addOption(fallbackOption())
    .addOption(imageOption())
    .addOption(stepsOption())
    .addOption(usdOption())
    .addOption(tokensOption())
    .addOption(timeOption())
    .addOption(new Option('-s, --session <id>', `go on with a session: ${SESSION_HELP}`).conflicts('continue'))
    .option('-c, --continue', 'go on with the newest session')
    .option('--accessible', 'without a prompt: plain lines, nothing is redrawn; for screen readers')
    .addOption(jsonOption('print events, one JSON object a line (docs/events.md)'))
    .addOption(
      new Option(
        '--permission <who>',
        'who answers questions: deny (nobody), ask (this terminal, or `odin answer`), accept-edits (default: ask in a terminal, else deny)',
      ).choices([...PERMISSION_MODES]),
    )
    .addOption(
      new Option(
        '--permission-timeout <seconds>',
        'a question that waits longer is denied (default: 600; none in a terminal)',
      ).argParser(wholeNumber),
    )
    .addOption(
      new Option(
        '--allow <command>',
        'run commands that begin like this without a question; may be repeated',
      ).argParser(repeated),
    )
    .addHelpText(
      'after',
      `\nThe answer goes to stdout, progress to stderr. Ctrl-C cancels; a second one leaves at once.\n\n${EXIT_CODES_HELP}`,
    )
    .action(async (prompt: string[], options: RunOptions) => {
      refuseMistypedCommand(prompt, program);
      await settle((await import('./commands/run.ts')).run(prompt, options));
    });
  program.command('run-alone', { hidden: true }).action(async () => {
    await settle((await import('./commands/run-alone.ts')).runAloneCommand());
  });
  program
    .command('send')
    .description('queue a message in a session from another terminal')
    .argument('<session>', SESSION_HELP)
    .argument('[message...]', 'what to do; "-", or a pipe, reads it from stdin')
    .addOption(modeOption())
    .addOption(fallbackOption())
    .addOption(imageOption())
    .addOption(stepsOption())
    .addOption(usdOption())
    .addOption(tokensOption())
    .addOption(timeOption())
    .addOption(jsonOption('print {session, seq, position, mode}'))
    .action(async (session: string, message: string[], options: SendOptions) => {
      await settle((await import('./commands/send.ts')).send(session, message, options));
    });
  program
    .command('attach')
    .description('follow a session that runs elsewhere; Ctrl-C leaves it running')
    .argument('<session>', SESSION_HELP)
    .addOption(jsonOption('print events, one JSON object a line'))
    .action(async (session: string, options: { json?: boolean }) => {
      await settle((await import('./commands/attach.ts')).attach(session, options));
    });
  program
    .command('diff')
    .description('what a session has changed in files')
    .argument('[session]', SESSION_HELP, 'last')
    .addOption(jsonOption('one object a file, one a line'))
    .action(async (session: string, options: { json?: boolean }) => {
      await settle((await import('./commands/diff.ts')).diff(session, options));
    });
  for (const type of ['undo', 'redo'] as const) {
    program
      .command(type)
      .description(
        type === 'undo'
          ? 'take the newest file changes of a session back, message by message'
          : 'make undone file changes again',
      )
      .addArgument(new Argument('[count]', 'how many messages').argParser(wholeNumber).default(1))
      .option('-s, --session <id>', SESSION_HELP, 'last')
      .action(async (count: number, options: { session: string }) => {
        await settle((await import('./commands/move-files.ts')).moveFiles(type, count, options.session));
      });
  }
  program
    .command('compact')
    .description('make the context of a session smaller now: older messages become a summary by the lesser model')
    .argument('[session]', SESSION_HELP, 'last')
    .option('--keep <text>', 'what the summary should keep in particular')
    .option('--small-model <provider/name>', 'the model that writes the summary')
    .addOption(jsonOption('print events, one JSON object a line'))
    .action(async (session: string, options: CompactOptions) => {
      await settle((await import('./commands/compact.ts')).compact(session, options));
    });
  program
    .command('cancel')
    .description('cancel what runs in a session')
    .argument('<session>', SESSION_HELP)
    .action(async (session: string) => {
      await settle((await import('./commands/cancel.ts')).cancel(session));
    });
}

/** `odin sesions` is meant as a command, not as a question to a model. */
function refuseMistypedCommand(prompt: readonly string[], program: Command): void {
  const only = prompt[0];
  if (prompt.length !== 1 || only === undefined || !/^[a-z-]{3,}$/.test(only) || program.args[0] === 'run') return;
  const near = nearestName(
    only,
    program.commands.map((command) => command.name()),
  );
  if (near !== null)
    throw new UserError(`there is no command "${only}". Did you mean "odin ${near}"? As a prompt: odin run ${only}`);
}
