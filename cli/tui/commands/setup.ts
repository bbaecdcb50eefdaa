// Commands about how Odin is set up here: models, rules, checks, ODIN.md; and what its subagents do.

import { openRuleStore } from '../../../orchestrator/permissions-rules.ts';
import { cleanLine } from '../../../shared/clean-text.ts';
import { UserError } from '../../../shared/outcome.ts';
import { placeHere } from '../../place.ts';
import { settingsOf } from '../../settings.ts';
import { table } from '../../table.ts';
import type { Desk } from '../desk.ts';
import type { SlashCommand } from './command.ts';

const LIST_TIMEOUT_MS = 10_000;

export const setupCommands: readonly SlashCommand[] = [
  { name: 'model', takes: '[provider/name]', help: 'the model of what is typed next', run: chooseModel },
  { name: 'models', help: 'what each provider lists, and what it needs', run: showModels },
  { name: 'permissions', help: 'what is allowed for always here, to take back', run: permissions },
  { name: 'agents', help: 'the subagents of the newest message', run: showAgents },
  { name: 'init', help: 'look through the project and write its ODIN.md', run: init },
  { name: 'doctor', help: 'check Node, Redis, ripgrep, model access and the rest', run: doctor },
];

async function listed(desk: Desk) {
  const { listModels } = await import('../../list-models.ts');
  const config = await settingsOf(placeHere(desk.options.env, desk.options.cwd));
  return await listModels(config, desk.options.env, AbortSignal.timeout(LIST_TIMEOUT_MS));
}

async function chooseModel(desk: Desk, rest: string): Promise<void> {
  const use = (model: string) => {
    const now = desk.models();
    if (now === null) return desk.say('no model is set up: /login', 'warn');
    desk.setModels({ ...now, model });
    desk.say(`${model} is asked from the next message on`);
  };
  if (rest !== '') {
    if (!/^[^/\s]+\/\S+$/.test(rest))
      throw new UserError('write provider/name, as in /model anthropic/claude-opus-5-5, or /model alone for a list');
    return use(cleanLine(rest));
  }
  desk.hint('asking the providers…');
  const models = (await listed(desk)).flatMap((provider) => provider.models);
  if (models.length === 0) throw new UserError('no provider lists a model. /models says why.');
  const now = desk.models()?.model;
  desk.pick({
    title: 'Model of what is typed next',
    items: models.map((model) => ({ value: model, label: model, description: model === now ? 'now' : '' })),
    onPick: use,
  });
}

async function showModels(desk: Desk): Promise<void> {
  desk.hint('asking the providers…');
  const lines = (await listed(desk)).flatMap(({ provider, models, problem }) => [
    `${provider}${problem === undefined ? '' : `: ${problem}`}`,
    ...models.map((model) => `  ${model}`),
  ]);
  desk.say([...lines, '/model chooses one of them.'].join('\n'), 'table');
}

function permissions(desk: Desk): void {
  const { home } = placeHere(desk.options.env, desk.options.cwd);
  const store = openRuleStore(home, desk.odin.root);
  const rules = store.list();
  if (rules.length === 0) return desk.say('no command is allowed for always here');
  desk.pick({
    title: 'Allowed for always: commands that begin with',
    items: rules.map(({ rule, at }, i) => ({
      value: String(i + 1),
      label: rule,
      description: `since ${new Date(at).toISOString().slice(0, 10)}`,
    })),
    keys: {
      'ctrl+d': {
        label: 'Ctrl-D takes it back',
        act(value) {
          desk.closePicker();
          store.revoke(Number(value)).then(
            (rule) => desk.say(rule === null ? 'it is gone already' : `no longer allowed: ${rule}`),
            (error: Error) => desk.say(cleanLine(error.message), 'bad'),
          );
        },
      },
    },
    onPick() {},
  });
}

function showAgents({ session, say }: Desk): void {
  const { agents } = session.view();
  if (agents.length === 0) return say('the newest message has no subagents');
  const rows = agents.map(({ title, mode, step, tokens, doing, end }) => [
    cleanLine(title, 40),
    mode,
    end ?? 'running',
    String(step),
    String(tokens),
    cleanLine(doing, 60),
  ]);
  say(table([['AGENT', 'MODE', 'STATE', 'STEP', 'TOKENS', 'DOING'], ...rows]).trimEnd(), 'table');
}

async function init(desk: Desk): Promise<void> {
  await desk.submit('Write ODIN.md: look through the project with InitTool.', 'edit');
}

async function doctor(desk: Desk): Promise<void> {
  const { allChecks } = await import('../../doctor-checks.ts');
  const checks = await Promise.all(allChecks(placeHere(desk.options.env, desk.options.cwd)));
  const rows = checks.map(({ ok, needed, name, text }) => [
    ok ? 'ok' : needed ? 'PROBLEM' : 'note',
    name,
    cleanLine(text),
  ]);
  desk.say(table(rows).trimEnd(), 'table');
}
