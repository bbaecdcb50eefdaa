// The environment of a command: made anew from a few names, so that no key of this process reaches a program, and set up so
// that programs neither ask questions nor page (SAFETY 2.4).

import { sha256 } from '../../shared/ids.ts';

/** What is taken over as it is. */
const KEPT = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'COLORTERM'] as const;

const ALWAYS = {
  TERM: 'dumb',
  SHELL: '/bin/bash',
  CI: '1',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
};

/** Git reads these as the last and strongest settings: a repository's own may name programs to run. */
const HARDENED_GIT = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_CONFIG_KEY_1: 'core.hooksPath',
  GIT_CONFIG_VALUE_1: '/dev/null',
};

/** Names the command in its processes' environment: what left its group is found by it. */
export const MARK = 'ODIN_COMMAND';

/** The mark of the command in this folder, which it does not tell. */
export const markOf = (dir: string): string => sha256(dir).slice(0, 24);

export function commandEnv(
  from: Readonly<Record<string, string | undefined>>,
  profile: 'read-only' | 'read-write',
  mark: string,
): Record<string, string> {
  const env: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/', LANG: 'C.UTF-8' };
  for (const name of KEPT) {
    const value = from[name];
    if (value) env[name] = value;
  }
  return { ...env, ...ALWAYS, ...(profile === 'read-only' ? HARDENED_GIT : {}), [MARK]: mark };
}
