// What `odin fsck` finds, and what it could do about it. A check names what is wrong and hands over its repair; running repairs is
// run-fsck.ts's alone, and only when the user asked for it.

export type Severity =
  /** Something is lost or cannot be read. */
  | 'error'
  /** Something is not as it should be; nothing is lost. */
  | 'warning'
  /** Worth knowing. */
  | 'note';

export interface Finding {
  readonly severity: Severity;
  /** Stable, for programs: `journal_undecodable`, `blob_missing`. */
  readonly code: string;
  /** The session, file or key that it is about. */
  readonly where: string;
  readonly message: string;
  /** What --repair would do, and does; absent: nothing can be done from here, and `message` says what the user can do. */
  readonly repair?: Repair;
}

export interface Repair {
  readonly what: string;
  /** Returns what was done, when it differs from `what`. */
  run(): Promise<string | undefined>;
  /** A workspace that nobody may run in meanwhile. */
  readonly ws?: string;
}

export interface FsckLine extends Omit<Finding, 'repair'> {
  /** What was done about it; null: nothing. */
  readonly repaired: string | null;
  /** What --repair would do; null when it can do nothing, or has done it. */
  readonly repair: string | null;
}

export interface FsckReport {
  readonly lines: readonly FsckLine[];
  readonly checked: {
    readonly sessions: number;
    readonly archives: number;
    readonly events: number;
    readonly blobs: number;
  };
  /** No error and no warning is left. */
  readonly clean: boolean;
}
