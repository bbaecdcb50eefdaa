// The names of everything Odin keeps in Redis (DURABILITY 2). One hash tag, so that every script that touches several of
// them is legal on a Cluster too. Where this differs from DURABILITY: `pending` and `ctl` are per workspace, because exactly
// one orchestrator reads them, and a session's client ids and changed messages have hashes of their own beside `meta`.

import { sha256 } from '../shared/ids.ts';

/** Also BullMQ's prefix. */
export const PREFIX = '{odin}';

export const keys = {
  session: (sid: string) => ({
    /** Stream `<seq>-0`: the messages that are not done yet. */
    inbox: `${PREFIX}:s:${sid}:in`,
    /** Hash: ws, root, title, createdAt, updatedAt, seq, cursor, claimed, epoch, gen, removed, crashes, crashesAlone. */
    meta: `${PREFIX}:s:${sid}:meta`,
    /** Hash: client id of a message -> seq. */
    mids: `${PREFIX}:s:${sid}:mids`,
    /** Hash: `<seq>:p` body, `<seq>:m` mode, `<seq>:x` removed, `<seq>:s` told to which one. What was changed about messages that wait. */
    changes: `${PREFIX}:s:${sid}:changes`,
    /** Stream `<epoch>-<n>`: the journal. Never deleted while anybody may still own it: that would forget its last id. */
    log: `${PREFIX}:s:${sid}:log`,
    /** Stream: what is only for eyes; it expires. */
    live: `${PREFIX}:s:${sid}:live`,
  }),
  workspace: (ws: string) => ({
    /** Sorted set: sessions by their last activity, in milliseconds. */
    sessions: `${PREFIX}:ws:${ws}:sessions`,
    /** Set: sessions with messages that are not done. */
    pending: `${PREFIX}:ws:${ws}:pending`,
    /** Set: sessions with a question that waits for its answer; a hint (asking.ts). */
    asking: `${PREFIX}:ws:${ws}:asking`,
    /** Stream: requests to the owner, each deleted when its effect is journaled. */
    ctl: `${PREFIX}:ws:${ws}:ctl`,
    /** Hash: which process runs its turns, and a number that it counts up as long as it can: id, who, beat. */
    owner: `${PREFIX}:ws:${ws}:owner`,
    /** What the owner says of itself every few seconds (watch/figures.ts); it expires. */
    figures: `${PREFIX}:ws:${ws}:figures`,
  }),
  /** Hash sid -> who runs it on this host: pid, startTime, ws, jobId, token. */
  owners: (host: string) => `${PREFIX}:own:${host}`,
  /** A subagent that works on another machine, from its order until its end is in its parent's journal. */
  remoteAgent: (rid: string) => ({
    /** Hash: order, patch:<sha256>, run, epoch, attempt, place, session, deaths, crashed, ended. */
    meta: `${PREFIX}:a:${rid}`,
    /** Stream `<attempt>-<n>`: what its worker says, sealed. */
    stream: `${PREFIX}:a:${rid}:out`,
    /** Stream `1-<n>`: what its worker is told, sealed. */
    words: `${PREFIX}:a:${rid}:in`,
    /** String that expires: its parent listens. */
    heard: `${PREFIX}:a:${rid}:heard`,
  }),
  /** Set: the remote subagents that there are. */
  remoteAgents: `${PREFIX}:agents`,
  budget: (scope: string) => `${PREFIX}:budget:${scope}`,
  batch: (bid: string) => ({
    /** Hash: hash, name, root, createdAt, total, caps, cancelled, endedAt, usd, unpriced, tokens, and n:<status> for each. */
    meta: `${PREFIX}:batch:${bid}`,
    /** Hash: item -> the task, written once. */
    items: `${PREFIX}:batch:${bid}:items`,
    /** Hash: item -> the items that wait for it. */
    after: `${PREFIX}:batch:${bid}:after`,
    /** Set: the items without a result. */
    todo: `${PREFIX}:batch:${bid}:todo`,
    /** Hash: g:<item> how often it was begun anew, e:<item> its newest claim, j:<item> its newest job, s:<item>:<g>:<ws> its session. */
    marks: `${PREFIX}:batch:${bid}:marks`,
    /** Hash: item -> who runs it. */
    runs: `${PREFIX}:batch:${bid}:runs`,
    /** Hash: item -> its result, written once. */
    results: `${PREFIX}:batch:${bid}:res`,
    /** Hash: item -> its patch. */
    patches: `${PREFIX}:batch:${bid}:patches`,
  }),
  /** What all processes share of a provider: sorted sets of calls under way and of interactive ones that wait, a hash of buckets. */
  providerLimit: (name: string) => ({
    calls: `${PREFIX}:limit:${name}:calls`,
    waiting: `${PREFIX}:limit:${name}:waiting`,
    buckets: `${PREFIX}:limit:${name}:buckets`,
  }),
  /** Sorted set: batches by when they were submitted. */
  batches: `${PREFIX}:batches`,
  /** Hash: worker -> what it is and does; and when each gave its last sign of life, by Redis' clock. */
  workers: `${PREFIX}:workers`,
  workerBeats: `${PREFIX}:workers:beats`,
} as const;

/** BullMQ's queue of a workspace's turns. */
export const turnsQueue = (ws: string): string => `turns.${ws}`;

/** BullMQ's queue of a project's batch tasks: a worker is given those of its own projects only, and of the modes it may run. */
export const batchQueue = (root: string, access: 'read' | 'edit'): string =>
  `batch.${sha256(root).slice(0, 16)}.${access}`;

/** BullMQ's queue of a project's subagents that work elsewhere. */
export const agentsQueue = (root: string, access: 'read' | 'edit'): string =>
  `agents.${sha256(root).slice(0, 16)}.${access}`;

/**
 * The workspace of a project's real root. `scope` tells machines apart that share one Redis and may have different projects
 * at the same path; it is empty for the private one.
 */
export const workspaceId = (realRoot: string, scope = ''): string =>
  sha256(scope === '' ? realRoot : `${scope}\0${realRoot}`).slice(0, 16);
