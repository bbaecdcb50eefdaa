// A session's hash in Redis as a watch reads it: the fields that a summary is made of, and whether a process of this host runs it.

import { isAlive, type ProcessIdentity } from '../process-identity.ts';

export const META = ['ws', 'root', 'title', 'createdAt', 'updatedAt', 'seq', 'cursor', 'claimed', 'removed'];

/** The reply to an HMGET of META. */
export function metaOf(values: unknown): Readonly<Record<string, string>> {
  const meta: Record<string, string> = {};
  META.forEach((name, i) => {
    const value = (values as readonly (string | null)[] | undefined)?.[i];
    if (typeof value === 'string') meta[name] = value;
  });
  return meta;
}

/** Whether a process of this host runs a session. Each process is looked up once. */
export function runnersOf(owners: Readonly<Record<string, string>>): (sid: string) => boolean {
  const alive = new Map<string, boolean>();
  return (sid) => {
    const text = owners[sid];
    if (text === undefined) return false;
    const { pid, startTime } = JSON.parse(text) as ProcessIdentity;
    const name = `${pid} ${startTime}`;
    const isThere = alive.get(name) ?? isAlive({ pid, startTime });
    alive.set(name, isThere);
    return isThere;
  };
}
