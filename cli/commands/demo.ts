// `odin demo`: the real orchestrator, queue, journal and tools on a real folder; the model's side is a scripted server on this machine,
// asked through the real SDK. Its session is one like any other.

import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../../shared/outcome.ts';
import { type Place, placeHere, withOdin } from '../place.ts';
import { rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';

const DEMO_MODEL = 'odin/demo';
const FIRST_LINE = 'Demo: the model is scripted, no model was asked. Everything else is real.\n';
const QUESTION = 'What is in this folder? Quote some of it.';
const MAX_STEPS = 10;

export async function demo(given: string | undefined, { json }: { readonly json?: boolean }): Promise<number> {
  const folder = folderOf(given);
  const place = { ...placeHere(), cwd: folder };
  (json === true ? process.stderr : process.stdout).write(FIRST_LINE);
  return await withOdin(place, null, async (odin) => {
    // Real messages that wait must not be answered by a script.
    const unfinished = (await odin.sessions()).some(({ root, status }) => root === odin.root && status !== 'idle');
    if (unfinished) throw busy(odin.root);
    return await runScripted(place, given === undefined ? '.' : folder, json ?? false);
  });
}

/** `about`: the folder that was named, else the project's root. */
async function runScripted(place: Place, about: string, json: boolean): Promise<number> {
  const server = await startModel(about);
  try {
    const models = await scriptedModels(server.url);
    return await withOdin(place, models, async (odin) => {
      if (!odin.owner) throw busy(odin.root);
      const submit = { mode: 'ask', body: QUESTION, limits: { maxSteps: MAX_STEPS } } as const;
      const renderer = rendererHere({ json, showPrompts: true });
      const { exitCode } = await runMessage(odin, { sid: odin.newSession(), isNew: true, submit, renderer });
      return exitCode;
    });
  } finally {
    await server.close();
  }
}

function folderOf(given = '.'): string {
  const folder = resolve(given);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`${folder} is no folder.`);
  return realpathSync(folder);
}

const busy = (root: string): UserError =>
  new UserError(
    `there are messages in ${root} that are not done, and the demo must not answer them. Finish them, or give another folder.`,
  );

async function startModel(about: string) {
  const [{ startScriptedServer }, { createDemoScript }] = await Promise.all([
    import('../../llm/scripted/server.ts'),
    import('../demo/script.ts'),
  ]);
  return await startScriptedServer({ script: createDemoScript(about) });
}

async function scriptedModels(url: string) {
  const { chooseModel } = await import('../../llm/choose-model.ts');
  const model = 'anthropic/scripted';
  const env = { ANTHROPIC_API_KEY: 'none-needed', ANTHROPIC_BASE_URL: url };
  const chosen = await chooseModel({ flagModel: model, flagSmallModel: model, env });
  if (!chosen.ok) throw new UserError(chosen.failure.message);
  // Named as what it is: it costs nothing.
  const { provider } = chosen.value;
  return { model: DEMO_MODEL, smallModel: DEMO_MODEL, provider: () => provider(model) };
}
