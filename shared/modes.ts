// The three modes of SPEC O1. A message carries its mode; ask and plan are read-only.

export const MODES = ['ask', 'plan', 'edit'] as const;
export type Mode = (typeof MODES)[number];

/** The mode as SPEC O1 names it in State. */
export type AgentMode = `${Mode}_mode`;

export const agentModeOf = (mode: Mode): AgentMode => `${mode}_mode`;
export const isMode = (text: string): text is Mode => (MODES as readonly string[]).includes(text);
