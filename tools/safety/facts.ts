// What decide() must be told about the world (SAFETY 2): plain values and one function that resolves links. decide() itself
// does no I/O; fs-links.ts supplies the resolver in production, `resolveWithLinks` a table of links anywhere else.

/** Resolves an absolute path as the kernel does, links first and then `..`; undefined for a loop of links. */
export type ResolvePath = (path: string) => string | undefined;

export interface Facts {
  /** The folder that holds ODIN.md. */
  readonly root: string;
  readonly cwd: string;
  readonly home: string;
  readonly resolve: ResolvePath;
  /** AllowedCommands and ForbiddenCommands of odinconfig.json. */
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
  /** Whether commands run in a sandbox on this machine. */
  readonly sandbox: boolean;
  /** Whether the repository's git configuration names no program; only asked without a sandbox (R16). */
  readonly plainGitConfig: boolean;
  /** Untrusted text is in the context: AllowedCommands stop covering network commands (SAFETY 2.3). */
  readonly tainted?: boolean;
  /** The file system folds case, so protected names are compared without it. */
  readonly caseInsensitive?: boolean;
  /** Odin's own folders, sockets and ports (R13), besides those it always has; the ports are of this machine and of the hosts. */
  readonly control?: {
    readonly paths: readonly string[];
    readonly ports: readonly number[];
    readonly hosts?: readonly string[];
  };
}

const MAX_LINKS = 40;

/** A resolver over a table of links {link: target}. Paths that are not in it are taken to be ordinary files and folders. */
export function resolveWithLinks(links: Readonly<Record<string, string>>): ResolvePath {
  const table = new Map(Object.entries(links));
  return (path) => resolveBy(path, (link) => table.get(link));
}

/** Walks a path component by component; `readLink` tells the target of a link and undefined for anything else. */
export function resolveBy(path: string, readLink: (path: string) => string | undefined): string | undefined {
  const todo = path.split('/').reverse();
  let done = '';
  let followed = 0;
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      done = done.slice(0, Math.max(0, done.lastIndexOf('/')));
      continue;
    }
    const next = `${done}/${part}`;
    const target = readLink(next);
    if (target === undefined) {
      done = next;
      continue;
    }
    if (++followed > MAX_LINKS) return undefined;
    if (target.startsWith('/')) done = '';
    todo.push(...target.split('/').reverse());
  }
  return done === '' ? '/' : done;
}
