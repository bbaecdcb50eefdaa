// Requests to whoever owns a workspace: cancel this message, here is the answer to that question (DURABILITY 2, 11). They are
// durable: one waits in the stream until the owner has journaled its effect and acknowledges it, whoever the owner is by then.
// One blocking read per process; it wakes within a millisecond. Deciding what a request means is the owner's business.

import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { keys } from './keys.ts';
import { hangUpOnce, type OdinRedis, type RedisHandle } from './redis.ts';
import { refusedWith } from './redis-pause.ts';

const controlSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('cancel'), seq: z.int(), by: z.string() }),
  /** A message that waits is to be told to message `seq`; written by the script osteer. */
  z.strictObject({ type: z.literal('steer'), seq: z.int(), queued: z.int(), by: z.string() }),
  z.strictObject({ type: z.literal('agent.cancel'), agent: z.string().max(50), by: z.string() }),
  z.strictObject({
    type: z.literal('agent.say'),
    agent: z.string().max(50),
    text: z.string().max(20_000),
    by: z.string(),
  }),
  z.strictObject({
    type: z.literal('answer'),
    questionId: z.string(),
    decision: z.enum(['allow', 'allow_session', 'allow_always', 'deny']),
    by: z.string(),
    word: z.string().optional(),
  }),
]);

export type ControlMessage = z.infer<typeof controlSchema>;

export interface ControlEntry {
  readonly id: string;
  readonly sid: string;
  readonly message: ControlMessage;
}

export interface Control {
  /** Requests for a session that came and are not acknowledged: look here right after a claim. */
  pending(sid: string): readonly ControlEntry[];
  /** Its effect is journaled, or it has none any more. */
  acknowledge(id: string): Promise<void>;
  close(): void;
}

const AGAIN_MS = 200;

/** Resolves when the request is durable. */
export async function sendControl(redis: OdinRedis, ws: string, sid: string, message: ControlMessage): Promise<void> {
  await redis
    .xadd(keys.workspace(ws).ctl, '*', 'sid', sid, 'd', JSON.stringify(message))
    .catch(refusedWith('Nobody was told of it: ask for it again then.'));
}

/** For the one owner of a workspace. What has gathered so far is in `pending` when this resolves; `onEntry` gets all of it too. */
export async function openControl(
  handle: RedisHandle,
  ws: string,
  onEntry: (entry: ControlEntry) => void,
): Promise<Control> {
  const key = keys.workspace(ws).ctl;
  const waiting = new Map<string, ControlEntry>();
  let lastId = '0-0';
  let closed = false;
  const take = (entries: readonly [id: string, fields: string[]][]): void => {
    for (const [id, fields] of entries) {
      lastId = id;
      const entry = entryOf(id, fields);
      if (entry === null) {
        handle.client.xdel(key, id).catch(() => {});
        continue;
      }
      waiting.set(id, entry);
      onEntry(entry);
    }
  };
  take(await handle.client.xrange(key, '-', '+'));
  const reader = await handle.duplicate();
  const hangUp = hangUpOnce(reader);
  // It ends when the connection is closed for good; until then ioredis reconnects and asks again.
  const listen = async (): Promise<void> => {
    while (!closed && reader.status !== 'end') {
      try {
        const replies = await reader.xread('BLOCK', 0, 'STREAMS', key, lastId);
        take(replies?.[0]?.[1] ?? []);
      } catch {
        // What Redis refuses now, in a failover or while a long script runs, it answers later: an owner must not turn deaf.
        if (!closed) await delay(AGAIN_MS, undefined, { ref: false });
      }
    }
  };
  void listen();
  return {
    pending: (sid) => [...waiting.values()].filter((entry) => entry.sid === sid),
    async acknowledge(id) {
      waiting.delete(id);
      await handle.client.xdel(key, id);
    },
    close() {
      closed = true;
      hangUp();
    },
  };
}

/** Others can write to a shared Redis: what is no request is nobody's. */
function entryOf(id: string, fields: readonly string[]): ControlEntry | null {
  try {
    return { id, sid: fields[1] ?? '', message: controlSchema.parse(JSON.parse(fields[3] ?? '')) };
  } catch {
    return null;
  }
}
