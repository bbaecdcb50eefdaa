// What the options of several commands have in common.

import { Option } from 'commander';
import { MODES } from '../shared/modes.ts';

/** Runs a command, which comes to an exit code. */
export type Settle = (running: Promise<number>) => Promise<void>;

export const SESSION_HELP = 'id of a session, the beginning of one, or "last"';

export const modeOption = () =>
  new Option(
    '-m, --mode <mode>',
    'ask and plan only read, edit changes files (default: defaultMode of the settings, else ask)',
  ).choices([...MODES]);
export const fallbackOption = () =>
  new Option(
    '--fallback-model <provider/name>',
    'a model to ask when the other stays unavailable; may be repeated, asked in this order',
  ).argParser(repeated);
export const imageOption = () =>
  new Option('--image <file>', 'a picture that goes with the message; may be repeated, 10 at most').argParser(repeated);
/** For an option that may be given several times. */
export const repeated = (one: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  one,
];
export const jsonOption = (what: string) => new Option('--json', what);
