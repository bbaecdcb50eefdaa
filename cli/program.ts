// The program `odin`: its commands are declared in the files beside this one, by group; what one does is in commands/, loaded when it is
// called.

import { Command } from 'commander';
import { EXIT, EXIT_CODES_HELP } from './exit-codes.ts';
import { addBatch, addWorkers } from './fleet-commands.ts';
import { addPermissions } from './permission-commands.ts';
import { addRun } from './run-commands.ts';
import { addAgents, addCare, addQueue, addSessions } from './session-commands.ts';
import { addTools } from './setup-commands.ts';
import { addWatching } from './watch-commands.ts';

export const VERSION = '0.1.0';

const EXAMPLES = `
A prompt needs no command: odin "where is the retry policy decided?"
Without a prompt, in a terminal, odin opens its interface (docs/terminal.md).

${EXIT_CODES_HELP}`;

/** The program, and the exit code of the command that it ran. */
export function buildProgram(): { readonly program: Command; exitCode(): number } {
  let code: number = EXIT.completed;
  const settle = async (running: Promise<number>) => {
    code = await running;
  };
  const program = new Command('odin')
    .description('Odin answers questions about a repository, plans changes and makes them.')
    .version(VERSION, '-V, --version')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'odin: ')) })
    .addHelpText('after', EXAMPLES);
  addRun(program, settle);
  addSessions(program, settle);
  addCare(program, settle);
  addQueue(program, settle);
  addAgents(program, settle);
  addPermissions(program, settle);
  addTools(program, settle);
  addWatching(program, settle);
  addBatch(program, settle, VERSION);
  addWorkers(program, settle, VERSION);
  return { program, exitCode: () => code };
}
