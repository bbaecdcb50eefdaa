// The remote half of subagents on the side of their parent (SPEC O19, C5): whether workers are there, the order to them, what they say, and
// the files that they changed. What becomes of an agent is remote-host.ts's to decide.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventOf } from '../../../shared/events.ts';
import { sha256 } from '../../../shared/ids.ts';
import type { Mode } from '../../../shared/modes.ts';
import { fail, type Outcome, ok } from '../../../shared/outcome.ts';
import { inlineOf } from '../../../shared/payload.ts';
import type { Scrub } from '../../../shared/scrub.ts';
import { repositoryOf } from '../../batch/git.ts';
import type { Files } from '../../files/files.ts';
import { jobKeyFile, readJobKey } from '../../jobs/job-key.ts';
import type { JobQueue } from '../../jobs/job-queue.ts';
import { type Access, beat, type SeenWorker } from '../../jobs/workers.ts';
import { keys } from '../../keys.ts';
import type { Log } from '../../log.ts';
import { isAlive, selfPlace } from '../../process-identity.ts';
import { hangUpOnce, type RedisHandle } from '../../redis.ts';
import { type AgentJob, accessOfMode, type RemoteEntry, type RemoteOrder, type RemoteWord } from './order.ts';
import { addAgentJob, openAgentQueue } from './queue.ts';
import { entriesOf, openRemoteStore, type RemoteStore } from './store.ts';
import { type ChangedFile, describeCopy, filesOfPatch } from './working-copy.ts';

export interface RemoteDeps {
  readonly home: string;
  readonly root: string;
  readonly handle: RedisHandle;
  readonly files: Files;
  readonly scrub: Scrub;
  readonly log: Log;
  /** Agents that say nothing else go to workers when those are there. */
  readonly isPreferred: boolean;
}

/** Place in an agent's stream. */
export interface Place {
  readonly attempt: number;
  readonly n: number;
}

export type Heard = Place & { readonly entry: RemoteEntry };

/** Who may still end an agent: a worker that runs it, workers that could, nobody. */
export type Standing = 'runs' | 'waits' | 'alone';

export interface RemoteAgents {
  readonly isPreferred: boolean;
  readonly files: Files;
  /** Whether a worker takes agents of this mode now. */
  isServed(mode: Mode): Promise<boolean>;
  /** Hands an agent over; twice is once. Fails when it cannot go elsewhere. */
  order(
    rid: string,
    spawn: EventOf<'agent.spawn'>,
    /** `attempt`: the newest that its parent knows of. */
    more: Pick<RemoteOrder, 'limits' | 'metered'> & { readonly attempt: number },
  ): Promise<Outcome<RemoteOrder>>;
  /** What is said of it after a place, as it comes; null now and then, for whoever watches the time. Ends when the signal aborts. */
  follow(rid: string, from: Place, signal: AbortSignal): AsyncGenerator<Heard | null, void, undefined>;
  standing(order: RemoteOrder): Promise<Standing>;
  tell(rid: string, word: RemoteWord): Promise<void>;
  /** No worker is heard any more. ended: one has said how it ended, and that holds. */
  take(rid: string): Promise<'ok' | 'ended'>;
  /** The files of its patch with where they are in the project. */
  changes(order: RemoteOrder, patch: string): Promise<Outcome<readonly ChangedFile[]>>;
  /** Keeps a patch for the user; its file. Null when it is gone. */
  keep(rid: string, patch: string): Promise<string | null>;
  forget(rid: string): Promise<void>;
  close(): Promise<void>;
}

const BLOCK_MS = 500;
const PAGE = 200;
/** How often its worker is told that somebody listens. */
const LISTEN_MS = 60_000;

/** Null when this home has no key of jobs: then no worker of its user can be there. */
export function openRemoteAgents(deps: RemoteDeps): RemoteAgents | null {
  const { home, root, handle, scrub, log } = deps;
  const key = readJobKey(jobKeyFile(home));
  if (key === null) return null;
  const store: RemoteStore = openRemoteStore(handle.client, key);
  const queues = new Map<Access, Promise<JobQueue<AgentJob>>>();
  const queueOf = (access: Access): Promise<JobQueue<AgentJob>> => {
    const queue = queues.get(access) ?? openAgentQueue(handle, { root, access, key, log });
    queues.set(access, queue);
    return queue;
  };

  const workersFor = async (mode: Mode): Promise<readonly SeenWorker[]> => {
    const serves = ({ roles, roots, draining, access = 'edit' }: SeenWorker): boolean =>
      roles.includes('agents') &&
      roots.includes(root) &&
      !draining &&
      (access === 'edit' || accessOfMode(mode) === 'read');
    return (await beat(handle.client, null)).filter(serves);
  };

  const describe = async (): Promise<Outcome<{ readonly base: string; readonly patch: string }>> => {
    const repository = await repositoryOf(root);
    if (repository === null) return fail('failed', 'no_repository', `${root} is not in a git repository`);
    return describeCopy(repository, scrub);
  };

  return {
    isPreferred: deps.isPreferred,
    files: deps.files,
    isServed: async (mode) => (await workersFor(mode)).length > 0,

    async order(rid, spawn, { limits, metered, attempt }) {
      let order = await store.find(rid);
      if (order === null) {
        const copy = await describe();
        if (!copy.ok) return copy;
        const { base, patch } = copy.value;
        const { title, mode, role = '', tools, model, fallbackModels = [] } = spawn;
        order = await store.order(
          {
            ...{
              rid,
              title,
              mode,
              role,
              tools: [...tools],
              model,
              fallbackModels: [...fallbackModels],
              limits,
              metered,
              root,
              base,
            },
            prompt: scrub(inlineOf(spawn.prompt)),
            patch: patch === '' ? null : sha256(patch),
          },
          patch,
          attempt,
        );
      }
      if (order === null) return fail('failed', 'forged_order', 'what Redis holds in its place is not ours');
      // After a crash of the parent its worker may be done with it.
      if (!(await store.isEnded(rid))) await addAgentJob(await queueOf(accessOfMode(order.mode)), order);
      return ok(order);
    },

    async *follow(rid, from, signal) {
      const { stream } = keys.remoteAgent(rid);
      const reader = await handle.duplicate();
      const stop = hangUpOnce(reader);
      signal.addEventListener('abort', stop, { once: true });
      let last = `${from.attempt}-${from.n}`;
      let saidAt = Number.NEGATIVE_INFINITY;
      try {
        while (!signal.aborted) {
          if (performance.now() - saidAt > LISTEN_MS) {
            saidAt = performance.now();
            store
              .listen(rid)
              .catch((error: unknown) => log('nobody was told who listens', { rid, error: String(error) }));
          }
          const replies = await reader.xread('COUNT', PAGE, 'BLOCK', BLOCK_MS, 'STREAMS', stream, last);
          const entries = entriesOf(replies?.[0]?.[1] ?? []);
          if (entries.length === 0) yield null;
          for (const entry of entries) {
            last = entry.id;
            const said = store.said(rid, entry);
            const [attempt = 0, n = 0] = entry.id.split('-').map(Number);
            if (said.ok) yield { attempt, n, entry: said.value };
            else log('a word about an agent was refused', { rid, id: entry.id, why: said.failure.message });
          }
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        signal.removeEventListener('abort', stop);
        stop();
      }
    },

    async standing({ rid, mode }) {
      const [run, seen, able] = await Promise.all([store.run(rid), beat(handle.client, null), workersFor(mode)]);
      const isDead = run !== null && run.host === selfPlace() && !isAlive(run);
      if (run !== null && !isDead && seen.some(({ id }) => id === run.worker)) return 'runs';
      return able.some(({ id }) => !(isDead && id === run.worker)) ? 'waits' : 'alone';
    },

    tell: (rid, word) => store.tell(rid, word),
    take: (rid) => store.take(rid),

    async changes(order, hash) {
      const repository = await repositoryOf(root);
      const [begin, patch] = await Promise.all([
        order.patch === null ? '' : store.patch(order.rid, order.patch),
        store.patch(order.rid, hash),
      ]);
      if (repository === null || begin === null || patch === null) {
        return fail('failed', 'patch_lost', 'Its patch is not in Redis any more.');
      }
      const files = await filesOfPatch(repository, { base: order.base, patch: begin }, patch);
      return files.ok ? ok(files.value.map((file) => ({ ...file, path: join(repository, file.path) }))) : files;
    },

    async keep(rid, hash) {
      const patch = await store.patch(rid, hash);
      if (patch === null) return null;
      const folder = join(home, 'agent-patches');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${rid}.patch`);
      writeFileSync(file, patch, { mode: 0o600 });
      return file;
    },

    forget: (rid) => store.remove(rid),
    async close() {
      await Promise.all([...queues.values()].map(async (queue) => (await queue).close()));
    },
  };
}
