// `odin sessions`, `replay`, `fsck`, `queue` and `agents` with their options, for program.ts.

import { Argument, type Command, Option } from 'commander';
import { MODES, type Mode } from '../shared/modes.ts';
import { wholeNumber } from './budget-options.ts';
import type { AgentsOptions } from './commands/agents.ts';
import type { ForkOptions } from './commands/fork.ts';
import type { FsckOptions } from './commands/fsck.ts';
import type { QueueChange } from './commands/queue.ts';
import type { ReplayOptions } from './commands/replay.ts';
import { jsonOption, SESSION_HELP, type Settle } from './option-parts.ts';

export function addSessions(program: Command, settle: Settle): void {
  const sessions = program.command('sessions').description('list, show, fork and export sessions');
  sessions
    .command('list', { isDefault: true })
    .description('the sessions of this project, newest first')
    .addOption(jsonOption('one object a line'))
    .action(async (options: { json?: boolean }) => {
      await settle((await import('./commands/sessions.ts')).listSessions(options));
    });
  sessions
    .command('show')
    .description('what was asked, done and answered')
    .argument('<session>', SESSION_HELP)
    .addOption(jsonOption('its state as one object'))
    .action(async (session: string, options: { json?: boolean }) => {
      await settle((await import('./commands/sessions.ts')).showSession(session, options));
    });
  sessions
    .command('fork')
    .description('a new session that goes on from any point of one; files in the project stay as they are')
    .argument('<session>', SESSION_HELP)
    .option(
      '--at <event>',
      'from here on: the id of an event as `odin sessions export` shows it, or the number of a message (default: its newest event)',
    )
    .addOption(jsonOption('one object: the new session and where it begins'))
    .action(async (session: string, options: ForkOptions) => {
      await settle((await import('./commands/fork.ts')).fork(session, options));
    });
  sessions
    .command('export')
    .description('the whole journal as JSON lines')
    .argument('<session>', SESSION_HELP)
    .action(async (session: string) => {
      await settle((await import('./commands/sessions.ts')).exportSession(session));
    });
}

export function addCare(program: Command, settle: Settle): void {
  program
    .command('replay')
    .description(
      'run the machines of a session again from its journal, without a model, and say where they first differ',
    )
    .argument('<session>', SESSION_HELP)
    .option('--expect <hash>', 'the state that it must come to, as an earlier replay printed it')
    .addOption(jsonOption('the report as one object'))
    .action(async (session: string, options: ReplayOptions) => {
      await settle((await import('./commands/replay.ts')).replay(session, options));
    });
  program
    .command('fsck')
    .description(
      'check journals, archives, blobs and locks of all projects, and say what is not whole; changes nothing',
    )
    .option('--repair', 'repair what can be repaired; what is taken away goes to a quarantine folder')
    .addOption(jsonOption('the report as one object'))
    .action(async (options: FsckOptions) => {
      await settle((await import('./commands/fsck.ts')).fsck(options));
    });
}

export function addQueue(program: Command, settle: Settle): void {
  const queue = program.command('queue').description('list, remove, edit and steer with waiting messages');
  queue
    .command('list', { isDefault: true })
    .description('what waits, in one session or in all')
    .argument('[session]', SESSION_HELP)
    .addOption(jsonOption('one object a line'))
    .action(async (session: string | undefined, options: { json?: boolean }) => {
      await settle((await import('./commands/queue.ts')).listQueue(session, options));
    });
  queue
    .command('remove')
    .description('take a waiting message out')
    .argument('<session>', SESSION_HELP)
    .addArgument(new Argument('<seq>', 'number of the message').argParser(wholeNumber))
    .action(async (session: string, seq: number) => {
      await settle((await import('./commands/queue.ts')).removeQueued(session, seq));
    });
  queue
    .command('steer')
    .description(
      'tell a waiting message to the one that runs, with its next step; if that ends first, it stays in the queue',
    )
    .argument('<session>', SESSION_HELP)
    .addArgument(new Argument('<seq>', 'number of the message').argParser(wholeNumber))
    .action(async (session: string, seq: number) => {
      await settle((await import('./commands/queue.ts')).steerQueued(session, seq));
    });
  queue
    .command('edit')
    .description('change a waiting message')
    .argument('<session>', SESSION_HELP)
    .addArgument(new Argument('<seq>', 'number of the message').argParser(wholeNumber))
    .option('--body <text>', 'its new text')
    .addOption(new Option('-m, --mode <mode>', 'its new mode').choices([...MODES]))
    .action(async (session: string, seq: number, options: QueueChange & { mode?: Mode }) => {
      await settle((await import('./commands/queue.ts')).editQueued(session, seq, options));
    });
}

export function addAgents(program: Command, settle: Settle): void {
  const agents = program.command('agents').description('the subagents of a session: list, look into, tell, cancel');
  const sessionOption = () => new Option('-s, --session <session>', `${SESSION_HELP} (default: last)`);
  agents
    .command('list', { isDefault: true })
    .description('who is at work, and what the ended ones came to')
    .addOption(sessionOption())
    .addOption(jsonOption('one object a line'))
    .action(async (options: AgentsOptions) => {
      await settle((await import('./commands/agents.ts')).listAgents(options));
    });
  agents
    .command('show')
    .description('what one was asked, what it did and what it gave')
    .argument('<id>', 'id of the agent')
    .addOption(sessionOption())
    .addOption(jsonOption('its events, one a line'))
    .action(async (id: string, options: AgentsOptions) => {
      await settle((await import('./commands/agents.ts')).showAgent(id, options));
    });
  agents
    .command('send')
    .description('tell one at work something; it reads it with its next step')
    .argument('<id>', 'id of the agent')
    .argument('<text...>', 'what to tell it')
    .addOption(sessionOption())
    .action(async (id: string, text: readonly string[], options: AgentsOptions) => {
      await settle((await import('./commands/agents.ts')).sendToAgent(id, text, options));
    });
  agents
    .command('cancel')
    .description('stop one; its message goes on without it')
    .argument('<id>', 'id of the agent')
    .addOption(sessionOption())
    .action(async (id: string, options: AgentsOptions) => {
      await settle((await import('./commands/agents.ts')).cancelAgent(id, options));
    });
}
