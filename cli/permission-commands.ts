// What may be done and who is asked: `odin questions`, `answer`, `permissions`, `trust`, `explain`, for program.ts.

import { Argument, type Command, Option } from 'commander';
import { wholeNumber } from './budget-options.ts';
import type { Answer } from './commands/answer.ts';
import type { ExplainOptions } from './commands/explain.ts';
import type { TrustOptions } from './commands/trust.ts';
import { jsonOption, type Settle } from './option-parts.ts';

export function addPermissions(program: Command, settle: Settle): void {
  program
    .command('questions')
    .description('what waits for your answer, in all sessions of this project')
    .addOption(jsonOption('one object a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/questions.ts')).questions(options));
    });
  program
    .command('answer')
    .description('answer a question: for this time, for its session, for always, or no')
    .argument('<id>', 'id of the question, or the beginning of it')
    .addArgument(new Argument('<answer>', 'what to answer').choices(['allow', 'session', 'always', 'deny']))
    .option('--word <text>', 'with deny: what the model should know')
    .action(async (id: string, answer: Answer, options: { word?: string }) => {
      await settle((await import('./commands/answer.ts')).answer(id, answer, options));
    });
  const permissions = program.command('permissions').description('list and revoke what is allowed for always');
  permissions
    .command('list', { isDefault: true })
    .description('the commands that are allowed for always in this project')
    .addOption(jsonOption('one object a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/permissions.ts')).listPermissions(options));
    });
  permissions
    .command('revoke')
    .description('take one back')
    .addArgument(new Argument('<n>', 'its number in the list').argParser(wholeNumber))
    .action(async (n: number) => {
      await settle((await import('./commands/permissions.ts')).revokePermission(n));
    });
  program
    .command('trust')
    .description('accept this folder, and its odinconfig.json as it is now; until then that can only tighten')
    .addOption(new Option('--show', 'say how things stand and change nothing').conflicts('revoke'))
    .option('--revoke', 'take that back')
    .action(async (options: TrustOptions) => {
      await settle((await import('./commands/trust.ts')).trust(options));
    });
  program
    .command('explain')
    .description('how a shell command is judged, and what each mode would do with it; runs nothing')
    .argument('[command]', 'the command, as one argument')
    .addOption(jsonOption('one object: class, op, decisions, reasons, paths'))
    .option('--facts <json>', 'judge it in a made-up project at /project: {cwd, links, allowed, forbidden, …}')
    .option('--stdin', 'read {command, facts} as JSON lines and answer each with one')
    .action(async (command: string | undefined, options: ExplainOptions) => {
      await settle((await import('./commands/explain.ts')).explain(command, options));
    });
}
