// The facade of api.ts over an open world: what the command line may ask for, each in terms of the parts that do it.

import { NO_PERMISSIONS } from '../agent/permissions-memory.ts';
import { cleanText } from '../shared/clean-text.ts';
import { MAIN_AGENT, type Question } from '../shared/events.ts';
import { opId, ulid } from '../shared/ids.ts';
import { MOST_IMAGES } from '../shared/images.ts';
import type { Mode } from '../shared/modes.ts';
import { UserError } from '../shared/outcome.ts';
import type { SubAgent } from '../shared/state.ts';
import type { Odin, OpenOptions, OpenQuestion } from './api.ts';
import { insistOnPrices } from './budget/insist-on-prices.ts';
import { sendControl } from './control.ts';
import { followFromRedis, followOwn } from './follow-session.ts';
import { createHooks, type Hooks } from './hooks/run-hooks.ts';
import { createOwnership, type Ownership } from './ownership.ts';
import type { TurnQueue } from './queue.ts';
import { readOpenQuestions } from './read-open-questions.ts';
import { exportSession, readDiff, readQueued, readState, replaySession, sourceOf } from './session-reads.ts';
import { runToolAlone } from './tool-alone.ts';
import { openWorld, type World } from './world.ts';

/** Opens Odin for a folder. Throws UserError with one line when Redis or the settings cannot be used. */
export async function openOdin(options: OpenOptions): Promise<Odin> {
  const world = await openWorld(options);
  const ownership = createOwnership(world);
  if (options.commandsOnly) await ownership.ownForCommands(world.pair);
  else if (world.pair) await ownership.seek(world.pair);
  return facade(world, ownership);
}

function facade(world: World, ownership: Ownership): Odin {
  const { root, ws, handle, inbox, blobs, bus, scrub, config } = world;
  const redis = handle.client;
  const born = new Set<string>(world.options.task ? [world.options.task.sid] : []);
  let clientQueue: Promise<TurnQueue> | null = null;

  return {
    root,
    rates: world.models,
    get owner() {
      return ownership.owned() !== null;
    },
    newSession() {
      const sid = ulid();
      born.add(sid);
      return sid;
    },
    served: () => ownership.isTaken(),
    diff: (sid) => readDiff(world, sid),
    async submit(sid, { mode, body, limits, mid, ...options }) {
      if ((options.images?.length ?? 0) > MOST_IMAGES) {
        throw new UserError(`A message takes at most ${MOST_IMAGES} pictures.`);
      }
      if (!options.command) insistOnPrices(world, limits, options);
      const submitted = await inbox.submit({
        sid,
        mid: mid ?? ulid(),
        mode,
        body: scrub(body),
        limits: limits ?? {},
        options,
        create: born.has(sid),
      });
      const owned = ownership.owned();
      if (submitted.wake && owned) owned.dispatcher.wake(submitted.wake);
      else if (submitted.wake) {
        clientQueue ??= world.openQueue();
        await (await clientQueue).add(submitted.wake);
      }
      return { sid, seq: submitted.seq, position: submitted.position };
    },
    async keepImage(picture, model) {
      if (model !== null && !world.models.info(model).images) {
        throw new UserError(
          `${model} takes no pictures, as far as Odin knows. If it does, say so in your config.json: models.`,
        );
      }
      const { keepImage } = await import('./images.ts');
      return keepImage(blobs, picture);
    },
    follow: (sid, { from = '0', gatherMs = 0, signal }) =>
      ownership.owned()
        ? followOwn(sourceOf(world), blobs, bus, sid, { from, signal, rates: world.models })
        : followFromRedis(handle, sourceOf(world), blobs, sid, { from, gatherMs, signal, rates: world.models }),
    async fork(sid, at) {
      const { title = '' } = (await inbox.sessions()).find((session) => session.sid === sid) ?? {};
      await inbox.head(sid);
      const { forkSession } = await import('./fork-session.ts');
      const more = at === undefined ? {} : { at };
      return forkSession(sourceOf(world), blobs, { sid, title: `${title} (fork)`, ws, root, now: Date.now, ...more });
    },
    replay: (sid) => replaySession(world, sid),
    async fsck(repair) {
      const { runFsck } = await import('./fsck/run-fsck.ts');
      return runFsck({ redis, home: world.options.home, isPrivate: handle.isPrivate }, repair, Date.now());
    },
    async cancel(sid, by) {
      const { claimed, cursor } = await inbox.head(sid);
      if (claimed <= cursor) return false;
      if (!ownership.owned()?.runner.cancel(sid, claimed, by)) {
        await sendControl(redis, ws, sid, { type: 'cancel', seq: claimed, by });
      }
      return true;
    },
    async agent(sid, id, word) {
      const said = word.type === 'say' ? { ...word, text: scrub(word.text) } : word;
      if (said.type === 'say' && said.text.length > MOST_WORD_CHARS) throw longWord(said.text.length);
      if (id === MAIN_AGENT && said.type === 'say') {
        // Of a task, which nobody else runs.
        if (await ownership.owned()?.runner.agent(sid, id, said)) return;
        throw new UserError('Nothing runs here that could be told.');
      }
      const { subAgents } = await readState(world, sid);
      if (!subAgents.some((agent) => agent.id === id)) throw noAgent(id, subAgents);
      if (await ownership.owned()?.runner.agent(sid, id, said)) return;
      const { by } = said;
      const message =
        said.type === 'say'
          ? ({ type: 'agent.say', agent: id, text: said.text, by } as const)
          : ({ type: 'agent.cancel', agent: id, by } as const);
      await sendControl(redis, ws, sid, message);
    },
    questions: () => readQuestions(world),
    async answer(questionId, decision, { by, word }) {
      const { permissions } = ownership;
      const isMeant = ({ id }: Question) => questionId !== '' && id.startsWith(questionId);
      const here = permissions.waiting().filter(isMeant);
      const found = here.length > 0 ? here : (await readQuestions(world)).filter(isMeant);
      const question = found[0];
      if (!question) throw noQuestion(questionId);
      if (found.length > 1)
        throw new UserError(`"${questionId}" is the beginning of ${found.length} questions. Give more of it.`);
      if (decision === 'allow_always' && question.rule === undefined) throw noRule();
      const answer = { decision, by, ...(word === undefined ? {} : { word: scrub(word) }) };
      if (!permissions.answer(question.sid, question.id, answer)) {
        await sendControl(redis, ws, question.sid, { type: 'answer', questionId: question.id, ...answer });
      }
      return question;
    },
    sessions: () => inbox.sessions(),
    lastSession: () => inbox.last(),
    state: (sid) => readState(world, sid),
    async window(sid, mode) {
      const { readWindow } = await import('./window-contents.ts');
      return readWindow(world, sid, mode);
    },
    export: (sid) => exportSession(world, sid),
    queued: (sid) => readQueued(world, sid),
    removeQueued: (sid, seq) => inbox.removeWaiting(sid, seq),
    async editQueued(sid, seq, { body, ...change }) {
      if (body === undefined) return inbox.editWaiting(sid, seq, change);
      const found = (await inbox.waiting(sid)).find((message) => message.seq === seq);
      if (found?.options.command) {
        throw new UserError(
          `Message ${seq} is a command, which has no other words. Remove it, and send what you want.`,
        );
      }
      return inbox.editWaiting(sid, seq, { ...change, body: scrub(body) });
    },
    swapQueued: (sid, seq, other) => inbox.swapWaiting(sid, seq, other),
    async steer(sid, seq, by) {
      await inbox.head(sid);
      const found = (await inbox.waiting(sid)).find((message) => message.seq === seq);
      if (found?.options.images) throw new UserError(`Message ${seq} has pictures; it waits for its turn.`);
      if (found?.options.command) {
        throw new UserError(`Message ${seq} is a command; it is carried out when its turn has come.`);
      }
      const chars = found ? (await blobs.getPayload(found.body)).length : 0;
      if (chars > MOST_WORD_CHARS) {
        throw new UserError(
          `Message ${seq} has ${chars} characters; to a message that runs at most ${MOST_WORD_CHARS} can be told. It stays in the queue.`,
        );
      }
      return inbox.steerWaiting(sid, seq, by);
    },
    runTool: (name, args, mode, signal) =>
      runToolAlone({
        name,
        args,
        tools: world.toolbox.tools(ALONE, mode),
        hooks: hooksAlone(world, mode),
        permissions: ownership.permissions.forSession(ALONE),
        rule: config.toolRules[name],
        signal,
        context: {
          root,
          mode,
          editValidation: config.edit.validation ?? 'auto',
          op: opId(0, 0, 1),
          files: world.files.portFor(),
          search: world.search,
          model: world.smallModel,
          web: world.web.portFor({
            sid: 'alone',
            allowedHosts: () => (config.toolRules[name] === 'allow' ? null : []),
            userTexts: () => [],
          }),
          exec: world.commands.portFor(`alone-${ulid()}`),
          commandRules: world.commandRules(NO_PERMISSIONS),
          todos: () => [],
        },
      }),
    async close() {
      world.leave();
      await ownership.stop();
      const queue = await clientQueue?.catch(() => null);
      await queue?.close();
      await world.close();
      ownership.release();
    },
  };
}

/** Over all sessions of the workspace, oldest first. */
async function readQuestions({ inbox, handle }: World): Promise<readonly OpenQuestion[]> {
  const busy = (await inbox.sessions()).filter(({ status }) => status === 'running' || status === 'interrupted');
  const lists = await Promise.all(
    busy.map(async ({ sid }) =>
      (await readOpenQuestions(handle.client, sid)).map(({ op, question, at }) => ({
        ...question,
        sid,
        op,
        askedAt: at,
      })),
    ),
  );
  return lists.flat().toSorted((a, b) => a.askedAt - b.askedAt);
}

/** What the hooks of a call without a session have to tell goes to the user at once: there is no journal. */
const hooksAlone = ({ root, scrub, hooks, options }: World, mode: Mode): Hooks =>
  createHooks(hooks, {
    place: { session: ALONE, seq: 0, mode, root },
    scrub,
    clean: cleanText,
    record: ({ name, outcome, message }) => options.notice?.(`hook ${name} ${outcome}: ${message}`),
    now: Date.now,
  });

const ALONE = 'alone';

/** Facts stand behind a request and stay in the conversation. A longer word to an agent is no request to its owner (control.ts). */
const MOST_WORD_CHARS = 20_000;

const noQuestion = (id: string): UserError =>
  new UserError(
    `There is no open question ${id}: it was answered, or its time is over. \`odin questions\` lists what is open.`,
  );

const noAgent = (id: string, agents: readonly SubAgent[]): UserError =>
  new UserError(
    `No agent ${id} works in this session. ${agents.length === 0 ? 'None does.' : `At work: ${agents.map((agent) => agent.id).join(', ')}.`}`,
  );

const longWord = (chars: number): UserError =>
  new UserError(`That is ${chars} characters; an agent that works can be told at most ${MOST_WORD_CHARS}. Say less.`);

const noRule = (): UserError =>
  new UserError(
    'No rule is narrow enough to be kept for always. Answer `allow` for this time, or `session` for this session.',
  );
