// The command line's front door: runs the command that argv names and returns its exit code. A refusal is one line on stderr; only a
// bug shows a stack. Loads nothing but commander before it knows what is to be done: start-up time is a feature.

import { CommanderError } from 'commander';
import { cleanText } from '../shared/clean-text.ts';
import { UserError } from '../shared/outcome.ts';
import { EXIT } from './exit-codes.ts';
import { guardOutput } from './output-gone.ts';
import { buildProgram } from './program.ts';

/** Runs `odin` with these arguments (without the node and script of process.argv). */
export async function main(argv: string[]): Promise<number> {
  guardOutput();
  const { program, exitCode } = buildProgram();
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    if (error instanceof UserError) {
      process.stderr.write(`odin: ${cleanText(error.message)}\n`);
      return error.exitCode;
    }
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`odin: something went wrong that should not: ${cleanText(stack)}\n`);
    return EXIT.failed;
  }
}
