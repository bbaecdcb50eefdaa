// Who a process is: its pid and when it started, so that a reused pid is not taken for the process that had it before.
// On Linux the start is exact (clock ticks since boot, with the boot's id, since a reboot makes both meaningless);
// elsewhere it is what `ps` prints, to the second, and on Windows nothing, so there a reused pid counts as alive.

import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

let own: ProcessIdentity | undefined;

/** This process. */
export function selfIdentity(): ProcessIdentity {
  own ??= { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
  return own;
}

let here: string | undefined;

/**
 * Where pids mean the same as here: this machine, and in a container that has pids of its own, this container. Of a process elsewhere
 * nobody here can say whether it lives; two containers may well have one name for their host.
 */
export function selfPlace(): string {
  here ??= `${hostname()}${ownPids()}`;
  return here;
}

/** The identity of a running process, or null when there is none with this pid. */
export function identityOf(pid: number): ProcessIdentity | null {
  const startTime = startTimeOf(pid);
  return startTime === null ? null : { pid, startTime };
}

/** True while that very process runs. A process that has ended and was not waited for (a zombie) is not alive. */
export function isAlive(identity: ProcessIdentity): boolean {
  const startTime = startTimeOf(identity.pid);
  return startTime !== null && startTime === identity.startTime;
}

/** The start of the process with this pid, '' when it runs but its start is not known, null when there is none. */
function startTimeOf(pid: number): string | null {
  if (process.platform === 'linux') {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    } catch {
      return null;
    }
    // The second field, the command, may hold spaces and brackets; the rest follows its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    return state === 'Z' || state === 'X' ? null : `${fields[19]}@${bootId()}`;
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return null;
  }
  if (process.platform === 'win32') return '';
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim() || null;
  } catch {
    return null;
  }
}

/** Linux has one fixed number for the pids that a machine boots with. */
const PIDS_OF_THE_MACHINE = 'pid:[4026531836]';

function ownPids(): string {
  if (process.platform !== 'linux') return '';
  try {
    const pids = readlinkSync('/proc/self/ns/pid');
    return pids === PIDS_OF_THE_MACHINE ? '' : `/${pids}`;
  } catch {
    return '';
  }
}

let boot: string | undefined;

function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  return boot;
}
