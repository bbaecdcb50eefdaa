// Messages that are no question to the planner.

/** A message that is no question to the planner: it moves the session's file changes back or forth (SPEC E14). */
export interface FileCommand {
  readonly type: 'undo' | 'redo';
  /** How many messages' changes. */
  readonly count: number;
}

/** A message that has the context made smaller now (SPEC O21). */
export interface CompactCommand {
  readonly type: 'compact';
  /** What to keep in particular. */
  readonly focus?: string;
}

/** A message that is no question to the planner. */
export type MessageCommand = FileCommand | CompactCommand;
