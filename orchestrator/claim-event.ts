// The first event of every epoch: which process owns the session from here on, and by which journal version and machines it works.

import { hostname } from 'node:os';
import { AGENT_MACHINE } from '../machines/agent/machine.ts';
import { TOOL_MACHINE } from '../machines/tool/machine.ts';
import { type EventOf, JOURNAL_VERSION } from '../shared/events.ts';
import { selfIdentity } from './process-identity.ts';

/** Asked for once: a claim is made for every message. */
const HOST = hostname();

export function claimEvent(seq: number, at: number): EventOf<'claim'> {
  const { pid, startTime } = selfIdentity();
  const machines = `${AGENT_MACHINE} ${TOOL_MACHINE}`;
  return { type: 'claim', seq, pid, startTime, host: HOST, journal: JOURNAL_VERSION, machines, at };
}
