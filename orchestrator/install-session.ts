// Puts a whole session into Redis at once: one that comes back from its archive, or a new one that continues another. Its journal
// is staged beside its place first, in pages, and takes the place in one step, so that nobody ever sees a part of it. What a crash
// leaves staged expires.

import { ulid } from '../shared/ids.ts';
import type { RawEntry } from './archive-file.ts';
import { keys } from './keys.ts';
import type { OdinRedis } from './redis.ts';
import { refusedWith } from './redis-pause.ts';

export interface NewSession {
  readonly sid: string;
  readonly ws: string;
  readonly root: string;
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Its messages, all done. */
  readonly seq: number;
  readonly epoch: number;
  readonly entries: readonly RawEntry[];
  readonly mids: Readonly<Record<string, number>>;
}

const PAGE = 500;
const STAGED_MS = 600_000;

/** False when the session is there already. Throws UserError when Redis cannot write now. */
export const installSession = (redis: OdinRedis, session: NewSession): Promise<boolean> =>
  install(redis, session).catch(refusedWith('Nothing was changed: try again then.'));

async function install(redis: OdinRedis, session: NewSession): Promise<boolean> {
  const { sid, ws, root, title, createdAt, updatedAt, seq, epoch, entries, mids } = session;
  const { meta, log, mids: midsKey } = keys.session(sid);
  const nonce = ulid();
  const staged = { log: `${log}:${nonce}`, mids: `${midsKey}:${nonce}` };
  for (let at = 0; at < entries.length; at += PAGE) {
    const page = redis.pipeline();
    for (const [id, text] of entries.slice(at, at + PAGE)) page.xadd(staged.log, id, 'd', text);
    page.pexpire(staged.log, STAGED_MS);
    await execute(page);
  }
  const pairs = Object.entries(mids).flat();
  if (pairs.length > 0)
    await execute(
      redis
        .pipeline()
        .hset(staged.mids, ...pairs)
        .pexpire(staged.mids, STAGED_MS),
    );
  const fields = { ws, root, title, createdAt, updatedAt, seq, cursor: seq, claimed: seq, epoch, gen: 0 };
  const verdict = await redis.oinstall(
    [meta, log, midsKey, staged.log, staged.mids, keys.workspace(ws).sessions],
    [sid, updatedAt, ...Object.entries(fields).flat()],
  );
  if (verdict === 'exists') await redis.del(staged.log, staged.mids);
  return verdict === 'ok' || (verdict === 'lost' && install(redis, session));
}

async function execute(pipeline: ReturnType<OdinRedis['pipeline']>): Promise<void> {
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
}
