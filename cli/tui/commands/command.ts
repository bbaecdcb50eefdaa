// A slash command: what the list of them shows, and what it does. One file for each group in this folder, all.ts has them together.

import type { Desk } from '../desk.ts';

export interface SlashCommand {
  readonly name: string;
  /** What may follow the name. */
  readonly takes?: string;
  readonly help: string;
  run(desk: Desk, rest: string): Promise<void> | void;
}
