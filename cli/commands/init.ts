// `odin init`: has InitTool write ODIN.md (SPEC O22), as a message of a session of its own. The user asked for exactly this file, so the
// question that the tool asks is answered here, with what it shows on the screen.

import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelPair, Odin, SeenQuestion } from '../../orchestrator/api.ts';
import { type Config, PROJECT_CONFIG_FILE } from '../../orchestrator/config.ts';
import { isFolderTrusted } from '../../orchestrator/trust.ts';
import { findRoot } from '../../orchestrator/workspace.ts';
import { cleanLine, cleanText } from '../../shared/clean-text.ts';
import type { JsonObject } from '../../shared/json.ts';
import { UserError } from '../../shared/outcome.ts';
import type { StreamEvent } from '../../shared/stream-events.ts';
import { EXIT } from '../exit-codes.ts';
import { INIT_MODEL, initModels } from '../init-planner.ts';
import { onInterrupt } from '../interrupts.ts';
import { openModels } from '../open-models.ts';
import { type Place, placeHere, withOdin } from '../place.ts';
import { jsonLine } from '../render-json.ts';
import { rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';
import { settingsOf } from '../settings.ts';
import { writeStarterConfig } from '../starter-config.ts';

export interface InitOptions {
  readonly focus?: string;
  readonly dryRun?: boolean;
  readonly smallModel?: string;
  /** False: --no-model. */
  readonly model: boolean;
  /** False: --no-config. */
  readonly config: boolean;
  readonly json?: boolean;
}

const BODY = 'Write ODIN.md: look through the project with InitTool.';

export async function init(options: InitOptions): Promise<number> {
  const place = placeHere();
  const root = findRoot(place.cwd);
  const found = await modelsFor(options, await settingsOf(place));
  say(whereLine(place.cwd, root));
  const args: JsonObject = options.focus === undefined ? {} : { focus: options.focus };
  if (options.dryRun === true) return await dryRun(place, found, args, options.json ?? false);
  if (found === null) await refuseUnfinished(place);
  const { code, wrote } = await runInit(place, initModels(found, args), args, options.json ?? false);
  if (code === EXIT.completed) afterwards(place, root, wrote, options);
  return code;
}

const say = (line: string): void => void process.stderr.write(`${cleanLine(line)}\n`);

/** Null: ODIN.md is written from the facts alone. A model that was asked for by name has to be there. */
async function modelsFor({ model, smallModel }: InitOptions, config: Config): Promise<ModelPair | null> {
  if (!model) return null;
  try {
    return await openModels(smallModel === undefined ? {} : { model: smallModel, smallModel }, config);
  } catch (error) {
    if (!(error instanceof UserError) || smallModel !== undefined) throw error;
    say('No model can be used (`odin doctor` says why), so ODIN.md is written from the facts alone.');
    return null;
  }
}

function whereLine(cwd: string, root: string): string {
  const path = join(root, 'ODIN.md');
  if (realpathSync(cwd) === root) return `It goes to ${path}`;
  const mark = existsSync(path) ? 'ODIN.md' : '.git';
  return (
    `It goes to ${path}: the project's root is the nearest folder upwards that has ${mark}. ` +
    'To make this folder a project of its own, make an empty ODIN.md in it first.'
  );
}

async function dryRun(place: Place, models: ModelPair | null, args: JsonObject, json: boolean): Promise<number> {
  const stop = new AbortController();
  const offInterrupt = onInterrupt(() => stop.abort());
  try {
    const outcome = await withOdin(place, models, (odin) =>
      odin.runTool('InitTool', { ...args, dry_run: true }, 'edit', stop.signal),
    );
    if (json) process.stdout.write(jsonLine(outcome));
    else if (outcome.ok) process.stdout.write(cleanText(`${outcome.value.text.trimEnd()}\n`));
    else process.stderr.write(`odin: ${cleanText(outcome.failure.message)}\n`);
    if (outcome.ok) return EXIT.completed;
    return outcome.failure.kind === 'cancelled' ? EXIT.cancelled : EXIT.failed;
  } finally {
    offInterrupt();
  }
}

/** Messages that wait for a model would be taken up by this process, which has none. */
async function refuseUnfinished(place: Place): Promise<void> {
  await withOdin(place, null, async (odin) => {
    const waits = (await odin.sessions()).some(({ root, status }) => root === odin.root && status !== 'idle');
    if (waits && !(await odin.served()))
      throw new UserError(
        `there are messages in ${odin.root} that wait for a model, and there is none. \`odin queue list\` shows them, \`odin doctor\` says how to set up a model.`,
      );
  });
}

interface Done {
  readonly code: number;
  readonly wrote: boolean;
}

async function runInit(place: Place, models: ModelPair, args: JsonObject, json: boolean): Promise<Done> {
  const here: { sid: string; odin: Odin | null } = { sid: '', odin: null };
  const onQuestion = ({ sid, question, answer }: SeenQuestion): void => {
    if (sid !== here.sid || answer !== null || question.tool !== 'InitTool') return;
    here.odin?.answer(question.id, 'allow', { by: 'odin init' }).catch((error: Error) => say(error.message));
  };
  const run = async (odin: Odin): Promise<Done> => {
    here.odin = odin;
    here.sid = odin.newSession();
    const renderer = rendererHere({ json, showPrompts: false });
    let end: { readonly ok: boolean; readonly wrote: boolean } = { ok: true, wrote: false };
    const show = (event: StreamEvent): void => {
      if (event.type === 'ToolResult' && event.tool === 'InitTool')
        end = { ok: event.status === 'ok', wrote: event.affectedFiles.length > 0 };
      renderer.show(event);
    };
    // Who runs this project's messages has a planner of its own; it asks there.
    const submit = odin.owner
      ? { mode: 'edit' as const, body: BODY, model: INIT_MODEL, smallModel: models.smallModel }
      : { mode: 'edit' as const, body: `${BODY} Call it once, with ${JSON.stringify(args)}, and nothing else.` };
    if (!odin.owner)
      say('Another Odin runs this project and does it; it asks its question there, or answer with `odin answer`.');
    const { exitCode } = await runMessage(odin, { sid: here.sid, isNew: true, submit, renderer: { show } });
    return { code: exitCode === EXIT.completed && !end.ok ? EXIT.failed : exitCode, wrote: end.wrote };
  };
  return await withOdin(place, models, run, { permission: { mode: 'ask', timeoutMs: null }, onQuestion });
}

function afterwards({ home }: Place, root: string, wrote: boolean, { config, json }: InitOptions): void {
  const path = join(root, PROJECT_CONFIG_FILE);
  const made = config && writeStarterConfig(path);
  if (json === true) return;
  if (wrote)
    say('`odin undo` takes that back. Look it through; your own text goes above or below the two odin: lines.');
  if (made) say(`Made ${path} too, with nothing but comments: settings of the project go there.`);
  if (!isFolderTrusted(home, root))
    say('Next: `odin trust`. Until then Odin takes what ODIN.md says as information, not as your word.');
}
