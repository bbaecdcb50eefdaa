// `odin run`: one message to its answer, or the line prompt when a terminal gives none.

import type { Odin, SeenQuestion } from '../../orchestrator/api.ts';
import type { Mode } from '../../shared/modes.ts';
import { UserError } from '../../shared/outcome.ts';
import type { QuestionFeed } from '../ask-user.ts';
import { type BudgetOptions, limitsOf } from '../budget-options.ts';
import { drainQueue } from '../drain-queue.ts';
import { findSession } from '../find-session.ts';
import { modelsOrOffer } from '../first-start.ts';
import { isTerminal, type PermissionOptions, permissionPolicy } from '../permission-options.ts';
import { placeHere, withOdin } from '../place.ts';
import { readPrompt } from '../read-prompt.ts';
import { rendererFor, rendererHere } from '../renderers.ts';
import { runMessage } from '../run-message.ts';
import { settingsOf } from '../settings.ts';

export interface RunOptions extends PermissionOptions, BudgetOptions {
  readonly mode?: Mode;
  readonly model?: string;
  readonly smallModel?: string;
  readonly fallbackModel?: readonly string[];
  readonly session?: string;
  readonly continue?: boolean;
  readonly image?: readonly string[];
  readonly json?: boolean;
  /** Plain lines instead of the interface: nothing is redrawn. */
  readonly accessible?: boolean;
}

export async function run(words: readonly string[], options: RunOptions): Promise<number> {
  const prompt = await readPrompt(words);
  if (prompt === null && options.json === true) {
    throw new UserError('--json needs a prompt: odin run --json "…", or pipe one in.');
  }
  if (prompt === null && options.image !== undefined) {
    throw new UserError('--image needs a prompt: odin run --image shot.png "what is wrong here?"');
  }
  if (prompt === null && options.accessible !== true && canDraw()) {
    const { runInterface } = await import('../tui/run-interface.ts');
    return await runInterface(options);
  }
  const place = placeHere();
  const config = await settingsOf(place);
  const models = await modelsOrOffer(options, config, place);
  if (typeof models === 'number') return models;
  const { model, smallModel, fallbackModels } = models;
  const named = { model, smallModel, fallbackModels };
  const mode = options.mode ?? config.defaultMode;
  const limits = limitsOf(options, config);
  const wanted = options.continue === true ? 'last' : (options.session ?? null);
  const permission = await permissionPolicy(options, isTerminal());
  // Questions of other sessions that run here: those of the own one come with its events.
  const feed: QuestionFeed & { own: string } = { asker: null, own: '' };
  const onQuestion = (seen: SeenQuestion) => {
    if (seen.sid !== feed.own) feed.asker?.see(seen);
  };
  const open = async (odin: Odin): Promise<number> => {
    const isNew = wanted === null;
    const sid = isNew ? odin.newSession() : await findSession(odin, wanted);
    feed.own = sid;
    const json = options.json ?? false;
    if (!odin.owner && (options.permission !== undefined || options.allow !== undefined)) {
      process.stderr.write(
        "Another Odin runs this project's messages: its --permission and --allow hold, not these.\n",
      );
    }
    if (prompt === null) {
      const { linePrompt } = await import('../line-prompt.ts');
      return await linePrompt(odin, {
        sid,
        isNew,
        mode,
        limits,
        models: named,
        renderer: rendererHere({ json, showPrompts: false }),
        input: process.stdin,
        output: process.stdout,
        feed,
      });
    }
    // What comes by a pipe the user may not have written.
    const typed = words.length === 1 && words[0] === '-' ? '' : words.join(' ');
    const images = await picturesHere(typed, model, place.cwd, options.image, odin);
    const answering = permission.mode === 'ask' && isTerminal();
    const main = rendererFor(odin, { json, showPrompts: false, answering, feed });
    const { exitCode, endId } = await runMessage(odin, {
      sid,
      isNew,
      submit: { mode, body: prompt, limits, ...images, ...named },
      renderer: main,
    }).finally(main.close);
    if (endId !== null) {
      const aside = rendererFor(odin, { json, showPrompts: true, isAside: true, answering, feed });
      await drainQueue(odin, sid, endId, aside).finally(aside.close);
    }
    return exitCode;
  };
  return await withOdin(place, models, open, { permission, onQuestion, titles: prompt === null });
}

/** Loaded only when there may be one. */
async function picturesHere(typed: string, model: string, cwd: string, files: RunOptions['image'], odin: Odin) {
  if (files === undefined && !/\.(?:png|jpe?g|gif|webp)/i.test(typed)) return {};
  const { picturesOf } = await import('../message-images.ts');
  const given = files === undefined ? {} : { files };
  return await picturesOf({ ...given, typed, model, cwd }, odin, (line) => process.stderr.write(`${line}\n`));
}

/** A terminal on both sides that can move its cursor; on any other, lines are typed and read. */
const canDraw = (): boolean =>
  process.stdin.isTTY === true && process.stdout.isTTY === true && (process.env['TERM'] ?? 'dumb') !== 'dumb';
