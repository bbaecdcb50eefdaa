// What sets Odin up and tries it: `odin init`, `tool`, `login`, `logout`, `models`, `doctor`, `demo`, for program.ts.

import { type Command } from 'commander';
import type { InitOptions } from './commands/init.ts';
import type { LoginOptions } from './commands/login.ts';
import type { ToolOptions } from './commands/tool.ts';
import { jsonOption, modeOption, type Settle } from './option-parts.ts';

export function addTools(program: Command, settle: Settle): void {
  program
    .command('init')
    .description("look through the project and write its ODIN.md, or refresh Odin's part of it; your own text stays")
    .option('--focus <text>', 'what it should dwell on, or what the files do not say')
    .option('--dry-run', 'print it, write nothing')
    .option('--small-model <provider/name>', 'the model that puts the facts into words')
    .option('--no-model', 'write it from the facts alone')
    .option('--no-config', 'make no odinconfig.json')
    .addOption(jsonOption('print events, one JSON object a line; with --dry-run the outcome, one object'))
    .action(async (options: InitOptions) => {
      await settle((await import('./commands/init.ts')).init(options));
    });
  program
    .command('tool')
    .description('run one tool without a model')
    .argument('<name>', 'for example Grep')
    .argument('[arguments]', 'a JSON object, for example \'{"pattern":"retry"}\'')
    .addOption(modeOption())
    .addOption(jsonOption('the whole outcome as one object'))
    .action(async (name: string, args: string | undefined, options: ToolOptions) => {
      await settle((await import('./commands/tool.ts')).tool(name, args, options));
    });
  program
    .command('login')
    .description(
      'keep the key of a model provider for this user, once it is tested; asks for it, or reads it from stdin',
    )
    .argument('[provider]', 'anthropic, openai, openrouter, compatible, or one of your config.json')
    .option('--base-url <url>', 'its server, when it is not the usual one; a key is sent to no other')
    .option('--model <name>', 'what a run takes when it names no model')
    .option('--no-keyring', 'keep it in a file that only you can read, also where there is a keyring')
    .action(async (provider: string | undefined, options: LoginOptions) => {
      await settle((await import('./commands/login.ts')).login(provider, options));
    });
  program
    .command('logout')
    .description('forget the key of a provider')
    .argument('[provider]', 'as given to odin login')
    .action(async (provider: string | undefined) => {
      await settle((await import('./commands/logout.ts')).logout(provider));
    });
  program
    .command('models')
    .description('list the models that can be used, and which a run would use')
    .addOption(jsonOption('one object'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/models.ts')).models(options));
    });
  program
    .command('doctor')
    .description('check Node, Redis, ripgrep, model access and the rest, and say what to do')
    .addOption(jsonOption('one object a check, one a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/doctor.ts')).doctor(options));
    });
  program
    .command('demo')
    .description('see Odin work on a folder with a scripted model: none is asked, nothing is changed')
    .argument('[folder]', 'the folder (default: this one)')
    .addOption(jsonOption('print events, one JSON object a line'))
    .action(async (folder: string | undefined, options: { json?: boolean }) => {
      await settle((await import('./commands/demo.ts')).demo(folder, options));
    });
}
