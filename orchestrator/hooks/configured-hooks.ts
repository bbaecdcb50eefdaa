// The `hooks` of one settings file as a list, in the order in which they are written.

import type { ProjectConfig } from '../config-schema.ts';
import type { HookEvent } from './hook.ts';

/** One entry. */
export interface ConfiguredHook {
  readonly event: Exclude<HookEvent, 'streamDelta'>;
  readonly name: string;
  readonly command: string;
  readonly match?: string | undefined;
  readonly timeoutMs?: number | undefined;
}

/** One without a name is called after its place: `odinconfig.json toolCall 2`. */
export function configuredHooks(hooks: ProjectConfig['hooks'], file: string): readonly ConfiguredHook[] {
  return Object.entries(hooks ?? {}).flatMap(([event, entries]) =>
    (entries ?? []).map((entry, i) => ({
      ...entry,
      event: event as ConfiguredHook['event'],
      name: entry.name ?? `${file} ${event} ${i + 1}`,
    })),
  );
}
