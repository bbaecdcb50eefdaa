// Every command of `odin` with its arguments and options. What a command does is in commands/, loaded when it is called.

import { Argument, Command, Option } from 'commander';
import { nearestName } from '../orchestrator/nearest-name.ts';
import { MODES, type Mode } from '../shared/modes.ts';
import { UserError } from '../shared/outcome.ts';
import { stepsOption, timeOption, tokensOption, usdOption, wholeNumber } from './budget-options.ts';
import type { AgentsOptions } from './commands/agents.ts';
import type { Answer } from './commands/answer.ts';
import type { CompactOptions } from './commands/compact.ts';
import type { DashboardCommandOptions } from './commands/dashboard.ts';
import type { ExplainOptions } from './commands/explain.ts';
import type { ForkOptions } from './commands/fork.ts';
import type { FsckOptions } from './commands/fsck.ts';
import type { InitOptions } from './commands/init.ts';
import type { LoginOptions } from './commands/login.ts';
import type { LogsOptions } from './commands/logs.ts';
import type { QueueChange } from './commands/queue.ts';
import type { ReplayOptions } from './commands/replay.ts';
import type { RunOptions } from './commands/run.ts';
import type { SendOptions } from './commands/send.ts';
import type { StatsOptions } from './commands/stats.ts';
import type { ToolOptions } from './commands/tool.ts';
import type { TrustOptions } from './commands/trust.ts';
import { EXIT, EXIT_CODES_HELP } from './exit-codes.ts';
import { addBatch, addWorkers } from './fleet-commands.ts';
import { PERMISSION_MODES } from './permission-options.ts';

export const VERSION = '0.1.0';

const SESSION_HELP = 'id of a session, the beginning of one, or "last"';

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

type Settle = (running: Promise<number>) => Promise<void>;

const modeOption = () =>
  new Option(
    '-m, --mode <mode>',
    'ask and plan only read, edit changes files (default: defaultMode of the settings, else ask)',
  ).choices([...MODES]);
const fallbackOption = () =>
  new Option(
    '--fallback-model <provider/name>',
    'a model to ask when the other stays unavailable; may be repeated, asked in this order',
  ).argParser((model: string, before: readonly string[] | undefined) => [...(before ?? []), model]);
const jsonOption = (what: string) => new Option('--json', what);

function addRun(program: Command, settle: Settle): void {
  program
    .command('run', { isDefault: true })
    .description('run one message and print its answer; without a prompt, ask for messages (the default command)')
    .argument('[prompt...]', 'what to do; "-" reads it from stdin, as does a pipe when there is no prompt')
    .addOption(modeOption())
    .option('--model <provider/name>', 'the model that plans and answers')
    .option('--small-model <provider/name>', 'the lesser model for small jobs')
    .addOption(fallbackOption())
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
      ).argParser((rule: string, before: readonly string[] | undefined) => [...(before ?? []), rule]),
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

function addSessions(program: Command, settle: Settle): void {
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

function addCare(program: Command, settle: Settle): void {
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

function addQueue(program: Command, settle: Settle): void {
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

function addAgents(program: Command, settle: Settle): void {
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

function addPermissions(program: Command, settle: Settle): void {
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

function addTools(program: Command, settle: Settle): void {
  program
    .command('init')
    .description("look through the project and write its ODIN.md, or refresh Odin's part of it; your own text stays")
    .option('--focus <text>', 'what it should dwell on, or what the files do not say')
    .option('--dry-run', 'print it, write nothing')
    .option('--small-model <provider/name>', 'the model that puts the facts into words')
    .option('--no-model', 'write it from the facts alone')
    .option('--no-config', 'make no odinconfig.json')
    .addOption(jsonOption('print events, one JSON object a line'))
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

function addWatching(program: Command, settle: Settle): void {
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

const wholeNumberOrZero = (text: string): number => (text === '0' ? 0 : wholeNumber(text));

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
