// What a shell command is for, as far as its words tell (SPEC E6): to check the work, to change files, or to look. For a status line: it
// reads common commands and decides nothing. What a command may do is tools/safety's.

import { simpleCommands, WRITES_TO } from './shell-words.ts';

export type CommandSign = 'look' | 'edit' | 'validate';

/** The strongest sign of its parts; null when it says nothing. A script that tests what it has just edited validates. */
export function commandSign(command: string): CommandSign | null {
  const signs = simpleCommands(command.slice(0, MAX_READ)).map(signOfWords);
  return STRONGEST.find((sign) => signs.includes(sign)) ?? null;
}

/** A command that is longer has said by then what it is. */
const MAX_READ = 4_096;
const STRONGEST = ['validate', 'edit', 'look'] as const;

/** Stand before the command they are about. */
const PREFIXES = new Set(
  'then do else if elif while until ! { time env nice nohup stdbuf command exec sudo npx bunx pnpx xargs builtin'.split(
    ' ',
  ),
);
/** The same with a word of their own, such as a time. */
const PREFIXES_WITH_WORD = new Set(['timeout', 'flock', 'taskset']);
/** `pnpm exec jest` is jest. */
const RUNNERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    npm: ['exec', 'x'],
    pnpm: ['exec', 'dlx'],
    yarn: ['exec', 'dlx'],
    bun: ['x'],
    bundle: ['exec'],
    poetry: ['run'],
    uv: ['run'],
    pipenv: ['run'],
    hatch: ['run'],
    rye: ['run'],
  }),
);

/** Programs that only check, whatever they are given. */
const CHECKERS = new Set(
  (
    'tsc vue-tsc jest vitest mocha ava tap c8 nyc oxlint eslint stylelint knip depcruise publint pytest py.test tox nox mypy pyright ' +
    'basedpyright flake8 pylint bandit rspec rubocop phpunit phpstan ctest bats shellcheck hadolint golangci-lint staticcheck ninja ' +
    'checkstyle ktlint detekt swiftlint clippy-driver cargo-nextest markdownlint yamllint actionlint'
  ).split(' '),
);

/** Programs whose first word says what they do. */
const VALIDATING: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    cargo: /^(test|t|check|c|build|b|clippy|nextest|bench|doc)$/,
    go: /^(test|vet|build)$/,
    deno: /^(test|check|lint)$/,
    dotnet: /^(test|build)$/,
    swift: /^(test|build)$/,
    mix: /^(test|compile|credo|dialyzer)$/,
    bazel: /^(test|build)$/,
    zig: /^(test|build)$/,
    mvn: /^(test|verify|compile|package|install)$/,
    mvnw: /^(test|verify|compile|package|install)$/,
    gradle: /(^|:)(test|check|build|assemble|lint)/,
    gradlew: /(^|:)(test|check|build|assemble|lint)/,
    sbt: /^(test|compile)/,
    rake: /^(test|spec)/,
    composer: /^(test|validate)$/,
    playwright: /^test$/,
    cypress: /^run$/,
    ruff: /^check$/,
    biome: /^(check|ci|lint)$/,
    terraform: /^(validate|plan)$/,
    webpack: /^/,
    vite: /^build$/,
    next: /^(build|lint)$/,
    rollup: /^/,
    esbuild: /^/,
    docker: /^build$/,
    cmake: /^--build$/,
  }),
);

/** Scripts and targets that check: `npm run test:unit`, `make lint`, `./scripts/check.sh`, `node --test`. */
const CHECKING =
  /(^|[-_:./])(test|tests|testing|spec|check|checks|lint|typecheck|type-check|types|build|compile|verify|validate|ci|e2e|unit|coverage|bench)([-_:.]|$)/;
const FIXING = /^--?(fix|write|w|in-place)$/;

const EDITORS = new Set('mv cp rm rmdir mkdir touch ln chmod patch tee truncate install unzip tar rsync dd'.split(' '));
const EDITING_GIT = /^(apply|am|checkout|switch|restore|reset|revert|merge|rebase|cherry-pick|mv|rm|clean|pull)$/;
const EDITING_PACKAGES = /^(install|i|add|remove|uninstall|rm|up|update|upgrade|get|tidy|init)$/;
const PACKAGERS = new Set('npm pnpm yarn bun pip pip3 poetry uv cargo go composer gem bundle'.split(' '));

const LOOKERS = new Set(
  (
    'ls cat bat head tail less more grep egrep rg ag find fd tree wc stat file du df pwd which type whereis realpath readlink basename ' +
    'dirname sort uniq cut tr column nl diff cmp jq yq awk sed xxd hexdump strings env printenv uname date ps id whoami history man ' +
    'nproc free hostname cloc tokei curl wget git'
  ).split(' '),
);

function signOfWords(all: readonly string[]): CommandSign | null {
  const writes = all.some((word) => word.startsWith(WRITES_TO));
  const words = bare(all.filter((word) => !word.startsWith(WRITES_TO)));
  const name = (words[0] ?? '').replace(/^.*\//, '');
  const args = words.slice(1);
  const first = args.find((word) => !word.startsWith('-')) ?? args[0] ?? '';
  if (/^(ba|z|da|k)?sh$/.test(name) && /^-\w*c$/.test(args[0] ?? '')) return commandSign(args[1] ?? '');
  if (validates(name, args, first, words[0] ?? '')) return args.some((arg) => FIXING.test(arg)) ? 'edit' : 'validate';
  if (edits(name, args, first) || writes) return 'edit';
  return LOOKERS.has(name) ? 'look' : null;
}

function validates(name: string, args: readonly string[], first: string, path: string): boolean {
  if (CHECKERS.has(name)) return true;
  const verbs = VALIDATING.get(name);
  if (verbs) return verbs.test(first) || (name === 'cmake' && args.includes('--build'));
  if (/^(npm|pnpm|yarn|bun)$/.test(name)) {
    const script =
      first === 'run' || first === 'run-script' ? (args.filter((arg) => !arg.startsWith('-'))[1] ?? '') : first;
    return script === 't' || (CHECKING.test(script) && !EDITING_PACKAGES.test(script));
  }
  if (name === 'make' || name === 'just' || name === 'task')
    return args.length === 0 || /^(all|$)/.test(first) || CHECKING.test(first);
  if (name === 'prettier' || name === 'black' || name === 'gofmt' || name === 'rustfmt' || name === 'isort')
    return args.some((arg) => /^(--check|-c|-l|--diff|--list-different)$/.test(arg));
  if (/^(python3?|py)$/.test(name) && args[0] === '-m')
    return /^(unittest|compileall|doctest)$/.test(args[1] ?? '') || CHECKERS.has(args[1] ?? '');
  if (/^(node|bun|deno|python3?|ruby|perl|php|(ba|z)?sh|tsx|ts-node)$/.test(name))
    return args.includes('--test') || args.includes('--check') || isCheckScript(first);
  return path.includes('/') && isCheckScript(path);
}

/** By its own name or its nearest folder's: scripts/test.mjs, test/run.sh. */
const isCheckScript = (path: string): boolean => CHECKING.test(path.split('/').slice(-2).join('/'));

function edits(name: string, args: readonly string[], first: string): boolean {
  if (EDITORS.has(name)) return true;
  if (name === 'git') return EDITING_GIT.test(first);
  if (/^(sed|perl|ruby|yq|ruff|biome|prettier|gofmt|eslint|rustfmt|black|isort)$/.test(name)) {
    const rewrites =
      /^(black|isort|rustfmt)$/.test(name) ||
      (name === 'biome' && first === 'format') ||
      (name === 'ruff' && first === 'format');
    return rewrites || args.some((arg) => FIXING.test(arg) || /^-[a-z]*i/.test(arg));
  }
  return PACKAGERS.has(name) && EDITING_PACKAGES.test(first);
}

/** The command itself, without what stands before it. */
function bare(words: readonly string[]): readonly string[] {
  let rest = words;
  for (;;) {
    const [first = '', second = ''] = rest;
    if (/^\w+=/.test(first) || PREFIXES.has(first)) rest = rest.slice(1);
    else if (PREFIXES_WITH_WORD.has(first)) rest = rest.slice(2);
    else if (RUNNERS.get(first)?.includes(second)) rest = rest.slice(2);
    else if (first.startsWith('-') && rest !== words) rest = rest.slice(1);
    else return rest;
  }
}
