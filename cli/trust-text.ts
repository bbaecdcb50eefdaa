// How trust in a folder and in its odinconfig.json is told to people (SAFETY 2.3).

import type { Trust } from '../orchestrator/config.ts';

/** `since`: when the folder was accepted, or null. */
export const folderTrustText = (since: number | null): string =>
  since === null
    ? 'not trusted: once its text was read, commands that use the network are always asked about. odin trust accepts it'
    : `trusted since ${new Date(since).toISOString().slice(0, 10)}`;

export function configTrustText({ status, waiting }: Trust): string {
  if (waiting.length === 0) return CONFIG[status];
  return `${CONFIG[status]}; these do not hold: ${waiting.join(', ')}. See it and say odin trust`;
}

const CONFIG = {
  none: 'the project has none',
  trusted: 'accepted as it is now',
  untrusted: 'not accepted, so it can only tighten',
  changed: 'changed since it was accepted, so it can only tighten',
} as const;
