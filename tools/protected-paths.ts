// The names of SAFETY R9 as data: what steers Odin itself, what steers other programs, what holds secrets. Names only; who may
// touch them is decided by path-policy.ts for the file tools and by the command rules for commands.

/** Case counts on Linux; elsewhere file systems usually ignore it, so the names are compared without it. */
const fold = (name: string): string => (process.platform === 'linux' ? name : name.toLowerCase());
const names = (...list: readonly string[]): ReadonlySet<string> => new Set(list.map(fold));

const CONTROL_FILES = names('odinconfig.json');
const CONTROL_FOLDERS = names('.odin');
const STEERING_FOLDERS = names('.git', '.husky', '.githooks', '.github', '.vscode', '.idea');
const STEERING_FILES = names(
  ...['ODIN.md', '.gitmodules', '.gitattributes', '.npmrc', '.mcp.json'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.inputrc'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.login', '.envrc'],
  'config.fish',
);
const SECRET_FILES = names('.env', '.netrc', '_netrc', '.npmrc', '.git-credentials', 'credentials');
const SECRET_NAME = /^(?:\.env\..+|.+\.(?:pem|key|p12|pfx)|id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:\..+)?)$/;
const HARMLESS_NAME = /\.(?:example|sample|template|pub)$/;

/** Odin's own settings and state: never written by a tool, whoever asks. `parts` are a path's components. */
export const isControlPath = (parts: readonly string[]): boolean =>
  parts.some((part) => CONTROL_FOLDERS.has(fold(part))) || CONTROL_FILES.has(fold(parts.at(-1) ?? ''));

/** Files and folders that make other programs run something, or that instruct Odin. */
export const isSteeringPath = (parts: readonly string[]): boolean =>
  parts.some((part) => STEERING_FOLDERS.has(fold(part))) || STEERING_FILES.has(fold(parts.at(-1) ?? ''));

/** A file that holds keys or passwords, by its name. */
export function isSecretFile(name: string): boolean {
  const folded = fold(name);
  return SECRET_FILES.has(folded) || (SECRET_NAME.test(folded) && !HARMLESS_NAME.test(folded));
}
