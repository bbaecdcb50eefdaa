// Names inside (and, for secrets, outside) the project that deserve more than R4's inside test: R9, R12's folders and raw
// disks, R13's own places. Data and pure tests over path text; paths.ts applies them.

/** Odin's own rules and state: nothing that runs may write them. */
const CONTROL = new Set(['odinconfig.json', '.odin']);

const STEERING_FOLDERS = new Set(['.git', '.husky', '.githooks', '.github', '.vscode', '.idea']);

const STEERING_FILES = new Set([
  ...['ODIN.md', 'AGENTS.md', '.gitmodules', '.gitattributes', '.npmrc', '.mcp.json', '.envrc'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.inputrc'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.login'],
]);

const SECRET =
  /^(?:\.env|\.env\..+|.+\.(?:pem|key|p12|pfx)|id_(?:rsa|dsa|ecdsa|ed25519)(?:[_.-].*)?|\.netrc|\.npmrc|\.git-credentials|credentials(?:\.json)?)$/;
const SAMPLE = /^(?:\.env\..*(?:example|sample|template)|.*\.pub)$/;

const SECRET_EXAMPLES = ['.env', '.env.local', '.netrc', '.npmrc', 'id_rsa', 'id_ed25519', 'credentials'];

const TOP_FOLDERS = new Set([
  ...[
    'bin',
    'boot',
    'dev',
    'etc',
    'home',
    'lib',
    'lib32',
    'lib64',
    'libx32',
    'media',
    'mnt',
    'nix',
    'opt',
    'proc',
    'root',
  ],
  ...[
    'run',
    'sbin',
    'snap',
    'srv',
    'sys',
    'tmp',
    'usr',
    'var',
    'Applications',
    'Library',
    'System',
    'Users',
    'Volumes',
  ],
  ...['private', 'cores'],
]);

const NEUTRAL = /^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|random|urandom|full|fd\/\d+)$/;

const RAW_DISK =
  /^\/dev\/(?:(?:sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|nbd|ram|zram|sr|r?disk)[\w-]*|mapper\/.*|disk\/.*|mem|kmem|port)$/;

export const isNeutralDevice = (path: string): boolean => NEUTRAL.test(path);
export const isRawDisk = (path: string): boolean => RAW_DISK.test(path);
export const isTopFolder = (path: string): boolean => path.startsWith('/') && TOP_FOLDERS.has(path.slice(1));

export const isSecretName = (name: string): boolean => SECRET.test(name) && !SAMPLE.test(name);

/** Whether a path inside the project names Odin's own files. `parts` are the components below the root. */
export function namesControl(parts: readonly string[]): boolean {
  return parts.some((part) => CONTROL.has(part));
}

/** Whether a write there changes what runs or is read as instruction later, or a secret. */
export function namesSteering(parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? '';
  return parts.some((part) => STEERING_FOLDERS.has(part)) || STEERING_FILES.has(last) || isSecretName(last);
}

/** How sure it is that a glob pattern means a protected name: it can match it, or hardly anything else. */
export function globMeets(pattern: string, names: Iterable<string>): 'no' | 'can' | 'aims' {
  const matcher = globMatcher(pattern);
  if (matcher === undefined) return 'can';
  for (const name of names) {
    if (matcher.test(name)) return pattern.replace(/[*?]|\[[^\]]*\]/g, '').length >= 6 ? 'aims' : 'can';
  }
  return 'no';
}

export const CONTROL_NAMES: ReadonlySet<string> = CONTROL;
export const STEERING_NAMES: readonly string[] = [...STEERING_FOLDERS, ...STEERING_FILES];

/** Whether a pattern is written for secret files. A bare `*` is not, though it may match one. */
export function globMeetsSecret(pattern: string): boolean {
  if (/\.(?:pem|key|p12|pfx)$/.test(pattern)) return true;
  if (pattern.replace(/[*?]|\[[^\]]*\]/g, '') === '') return false;
  return globMeets(pattern, SECRET_EXAMPLES) !== 'no';
}

/** Whether a pattern of one component can match `.git`. */
export const globMeetsGit = (pattern: string): boolean => globMeets(pattern, ['.git']) !== 'no';

/** `*`, `**`, `.*`, `[!x]*` and the like: everything in the folder. */
export const matchesEverything = (pattern: string): boolean => /^\.?[*?]*\*[*?]*$/.test(pattern);

function globMatcher(pattern: string): RegExp | undefined {
  if (/[?*+@!]\(/.test(pattern)) return undefined;
  const hidden = /^[*?[]/.test(pattern) ? '(?!\\.)' : '';
  const body = pattern.replace(/\*+|\?|\[!?[^\]]+\]|[\\^$.|+(){}\]/[]/g, (piece) => {
    if (piece.startsWith('*')) return '.*';
    if (piece === '?') return '.';
    if (piece.length > 1) return piece.replace(/^\[!/, '[^').replace(/\\/g, '');
    return `\\${piece}`;
  });
  try {
    return new RegExp(`^${hidden}${body}$`);
  } catch {
    return undefined;
  }
}
