// The parts of a project by its paths alone: folders with a manifest of their own, and folders of code. One folder that holds nearly
// everything (src, lib, a Python package) is no part: its folders are. Pure.

import { languageOf } from './languages.ts';

const MAX_COMPONENTS = 30;
/** What holds this share of the code is opened. */
const NEARLY_ALL = 0.7;
const MAX_DEPTH = 6;
/** Folders of made-up projects: their manifests describe nothing. */
const MADE_UP = /(?:^|\/)(?:fixtures?|__fixtures__|testdata|test-data|examples?|samples?|templates?|__mocks__)(?:\/|$)/;

export const isMadeUp = (path: string): boolean => MADE_UP.test(path);

/** Folders from the root, in order of path. `manifests` are folders that hold one; '' is the root. */
export function componentFolders(paths: readonly string[], manifests: Iterable<string>): readonly string[] {
  const code = paths.filter((path) => languageOf(path) !== undefined && !path.startsWith('.'));
  const own = [...manifests].filter((folder) => folder !== '' && !isMadeUp(`${folder}/`));
  const opened = openFolders(code);
  const isShelf = (folder: string): boolean => own.filter((one) => one.startsWith(`${folder}/`)).length > 1;
  const all = new Set([...opened.filter((folder) => !isShelf(folder) || own.includes(folder)), ...own]);
  const sizes = new Map([...all].map((folder) => [folder, countBelow(code, folder)]));
  return [...all]
    .toSorted((a, b) => Number(own.includes(b)) - Number(own.includes(a)) || (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0))
    .slice(0, MAX_COMPONENTS)
    .toSorted();
}

/** Top-level folders of code, the one that holds nearly all of it replaced by its own folders, again and again. */
function openFolders(code: readonly string[]): readonly string[] {
  let folders = childrenOf(code, '');
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const big = folders.find(({ size }) => size >= code.length * NEARLY_ALL);
    const inner = big ? childrenOf(code, big.folder) : [];
    if (!big || inner.length === 0) break;
    folders = [...folders.filter((one) => one !== big), ...inner];
  }
  return folders.map(({ folder }) => folder);
}

function childrenOf(code: readonly string[], parent: string): readonly { folder: string; size: number }[] {
  const prefix = parent === '' ? '' : `${parent}/`;
  const sizes = new Map<string, number>();
  for (const path of code) {
    if (!path.startsWith(prefix)) continue;
    const slash = path.indexOf('/', prefix.length);
    if (slash === -1) continue;
    const folder = path.slice(0, slash);
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
  }
  return [...sizes].map(([folder, size]) => ({ folder, size }));
}

const countBelow = (code: readonly string[], folder: string): number =>
  code.reduce((count, path) => count + Number(path.startsWith(`${folder}/`)), 0);

const MAIN_NAMES = [
  ...['doc', 'index', 'main', 'mod', 'lib', '__init__', '__main__', 'app', 'application', 'server', 'program', 'cli'],
  ...['registry', 'core', 'api', 'run', 'types', 'machine'],
];

/** Whether a folder's file has such a name that its head says what the folder is. */
export const isMainFile = (path: string, folder: string): boolean => rankOf(path, folder) <= MAIN_NAMES.length;

/** Its own name, then the usual ones. */
function rankOf(path: string, folder: string): number {
  const bare = (text: string): string => text.slice(text.lastIndexOf('/') + 1).toLowerCase();
  const name = bare(path).replace(/\.\w+$/, '');
  if (name === bare(folder)) return 0;
  const at = MAIN_NAMES.indexOf(name);
  return at === -1 ? MAIN_NAMES.length + 1 : at + 1;
}

/** Files of a folder whose head most likely says what the folder is, the likeliest first. */
export function mainFiles(paths: readonly string[], folder: string, most: number): readonly string[] {
  const near = paths.filter((path) => {
    if (!path.startsWith(`${folder}/`) || languageOf(path) === undefined) return false;
    const rest = path.slice(folder.length + 1).replace(/^src\//, '');
    return !rest.includes('/') && !/[._-](?:test|spec)\.\w+$|^test_/.test(rest);
  });
  return near.toSorted((a, b) => rankOf(a, folder) - rankOf(b, folder) || (a < b ? -1 : 1)).slice(0, most);
}
