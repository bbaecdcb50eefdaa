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

/** Whether the process is there that a session's entry among the owners of this host names. Each process is looked up once. */
export function createRunners(): (owner: string | null | undefined) => boolean {
  const alive = new Map<string, boolean>();
  return (owner) => {
    if (typeof owner !== 'string') return false;
    const { pid, startTime } = JSON.parse(owner) as ProcessIdentity;
    const name = `${pid} ${startTime}`;
    const isThere = alive.get(name) ?? isAlive({ pid, startTime });
    alive.set(name, isThere);
    return isThere;
  };
}
