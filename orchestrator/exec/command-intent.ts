// The intent of a command as it stands in the journal: all that a later process needs to learn how it ended, or to start it
// if it never began.

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { CommandRequest } from '../../shared/exec-port.ts';
import type { Json } from '../../shared/json.ts';

const schema = z.object({
  kind: z.literal('command'),
  /** The shim's folder. */
  dir: z.string(),
  /** After a reboot pids mean nothing, and what was not synced to disk is gone. */
  boot: z.string(),
  sandboxed: z.boolean(),
  background: z.boolean(),
  request: z.object({
    command: z.string(),
    cwd: z.string(),
    timeoutMs: z.number().nullable(),
    profile: z.enum(['read-only', 'read-write']),
    network: z.boolean(),
    extraPaths: z.array(z.object({ path: z.string(), access: z.enum(['read', 'write']) })),
    opKey: z.string(),
  }),
});

export type CommandIntent = z.infer<typeof schema>;

export function commandIntent(
  dir: string,
  request: CommandRequest,
  more: { readonly sandboxed: boolean; readonly background: boolean },
): CommandIntent {
  const { command, cwd, timeoutMs, profile, network, opKey } = request;
  const extraPaths = request.extraPaths.map(({ path, access }) => ({ path, access }));
  return {
    kind: 'command',
    dir,
    boot: bootId(),
    ...more,
    request: { command, cwd, timeoutMs, profile, network, extraPaths, opKey },
  };
}

/** The intent, or null when this is the intent of something else. */
export function commandIntentOf(json: Json): CommandIntent | null {
  const parsed = schema.safeParse(json);
  return parsed.success ? parsed.data : null;
}

/** Which boot of the machine this is; '' where the system does not say. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
