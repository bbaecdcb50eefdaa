// A first odinconfig.json: comments alone, so nothing changes by it. That it is there is of use (SAFETY 2.4): what runs in the sandbox
// can make no file where there is one.

import { writeFileSync } from 'node:fs';

const TEXT = `{
  // Odin's settings for this project. Comments are allowed; what is not here has its default.
  // What forbids something holds at once, what allows something once you have said \`odin trust\`.

  // "defaultMode": "ask",
  // "AllowedCommands": ["npm test"],
  // "ForbiddenCommands": ["git push"]
}
`;

/** False when something of that name is there already, or the folder takes no file. */
export function writeStarterConfig(path: string): boolean {
  try {
    writeFileSync(path, TEXT, { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'EACCES' || code === 'EROFS') return false;
    throw error;
  }
}
