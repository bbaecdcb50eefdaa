// Which tools a `match` of the settings means.

/** `ExecuteCommand|Write*`: names, with `*` for any characters. */
export function toolMatcher(match: string): (tool: string) => boolean {
  const parts = match.split('|').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, escaped));
  const one = new RegExp(`^(?:${parts.join('|')})$`);
  return (tool) => one.test(tool);
}

const escaped = (char: string): string => (char === '*' ? '.*' : `\\${char}`);
