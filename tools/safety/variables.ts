// Variables (R6): which names steer programs, and what setting one means.

import { type Judge, needs } from './judge.ts';
import type { Scope } from './scope.ts';

// Names that decide which program runs, what it loads, or how text is split. GIT_ and so on stand for all that start so.
const STEERING_PREFIXES = [
  ...['LD_', 'DYLD_', 'BASH_', 'GIT_', 'NODE_', 'PYTHON', 'PERL', 'RUBY', 'LESS', 'RIPGREP_', 'npm_', 'NPM_', 'YARN_'],
  ...['CARGO_', 'RUST', 'JAVA_', 'MAVEN_', 'GRADLE_', 'DOCKER_', 'SSH_', 'MAKE', 'CMAKE_', 'ODIN_', 'REDIS_', 'FZF_'],
];
const STEERING_SUFFIXES = ['PAGER', 'EDITOR', 'BROWSER'];
const STEERING_NAMES = new Set([
  ...['PATH', 'IFS', 'ENV', 'HOME', 'CDPATH', 'PROMPT_COMMAND', 'PS0', 'PS1', 'PS2', 'PS4', 'PWD', 'OLDPWD', 'SHELL'],
  ...['SHELLOPTS', 'BASHOPTS', 'GLOBIGNORE', 'EXECIGNORE', 'FIGNORE', 'HISTFILE', 'INPUTRC', 'TMPDIR', 'VISUAL'],
  ...['MANPATH', 'MANOPT', 'CLASSPATH', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'GCONV_PATH', 'LOCPATH', 'NLSPATH'],
  ...['TERMINFO', 'TERMINFO_DIRS', 'TERMCAP', 'TAR_OPTIONS', 'GREP_OPTIONS', 'GZIP', 'ZIPOPT', 'UNZIP', 'XZ_OPT'],
  ...[
    'CC',
    'CXX',
    'LD',
    'AR',
    'CFLAGS',
    'LDFLAGS',
    'GOFLAGS',
    'AWKPATH',
    'AWKLIBPATH',
    'POSIXLY_CORRECT',
    'TIMEFORMAT',
  ],
  ...['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'XDG_CONFIG_HOME', 'XDG_RUNTIME_DIR'],
]);

const NEUTRAL_EXPORTS = new Set([
  ...['LANG', 'LANGUAGE', 'TZ', 'CI', 'NO_COLOR', 'FORCE_COLOR', 'TERM', 'COLUMNS', 'LINES', 'NODE_ENV'],
]);

const isNeutralExport = (name: string): boolean => NEUTRAL_EXPORTS.has(name) || name.startsWith('LC_');

/** Whether a name decides what programs run or load. */
export function isSteering(name: string): boolean {
  if (isNeutralExport(name)) return false;
  return (
    STEERING_NAMES.has(name) ||
    STEERING_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    STEERING_SUFFIXES.some((suffix) => name.endsWith(suffix))
  );
}

/**
 * Judges that a variable is set. `plain`: an ordinary assignment, `read`, a loop. `exported`: programs will see it, as with
 * export or as a prefix of a command. Never liftable: an AllowedCommands entry names a command, not its surroundings.
 */
export function assign(judge: Judge, name: string, scope: Scope, kind: 'plain' | 'exported'): void {
  if (name === 'HOME') scope.home = undefined;
  if (name === 'PWD' || name === 'OLDPWD') scope.pwdKnown = false;
  if (isSteering(name)) needs(judge, 'exec', `The variable ${name} decides what programs run or load.`, false);
  else if (kind === 'exported' && !isNeutralExport(name)) {
    needs(judge, 'exec', `The variable ${name} is handed to programs and may change what they do.`, false);
  }
}
