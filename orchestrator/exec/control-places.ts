// Where Odin itself is (SAFETY R13): its state folder and its Redis, by path, or by host and port. No command may name them.

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ControlPlaces } from '../../shared/exec-port.ts';

/** `redis`: where it is, as the handle says: a path, `unix:` and a path, or a URL without secrets. */
export function controlPlaces(home: string, redis: string): ControlPlaces {
  const socket = redis.startsWith('/') ? redis : redis.startsWith('unix:') ? redis.slice('unix:'.length) : null;
  const url = socket === null ? URL.parse(redis) : null;
  const paths = [resolve(home), ...(socket === null ? [] : [socket])];
  return {
    paths: [...new Set(paths.flatMap((path) => [path, realOr(path)]))],
    ports: url === null ? [] : [Number(url.port || 6379)],
    hosts: url === null ? [] : [url.hostname.replace(/^\[(.*)\]$/, '$1')],
  };
}

export function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
