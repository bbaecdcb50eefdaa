// What CI runs: its shell lines, as facts. Only plain commands: what pipes, substitutes or names a secret is no command to hand on.

const CI_FILE =
  /^(?:\.github\/workflows\/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.circleci\/config\.yml|\.travis\.yml|azure-pipelines\.yml|bitbucket-pipelines\.yml|\.ci\/[^/]+|Jenkinsfile|\.woodpecker\.yml|\.drone\.yml|\.buildkite\/[^/]+\.ya?ml)$/;
const MAX_COMMANDS = 12;
const MAX_LENGTH = 100;

export const isCiFile = (path: string): boolean => CI_FILE.test(path);

export function ciCommands(path: string, text: string): readonly string[] {
  const lines = /\.ya?ml$/.test(path)
    ? yamlScripts(text)
    : path.startsWith('.ci/')
      ? shellLines(text)
      : jenkinsSteps(text);
  const plain = lines.map((line) => line.trim()).filter((line) => isPlain(line));
  return [...new Set(plain)].slice(0, MAX_COMMANDS);
}

/** Lines of `run:` and `script:`, as one line, as a block or as a list. */
function yamlScripts(text: string): readonly string[] {
  const found: string[] = [];
  let block = -1;
  for (const line of text.split(/\r?\n/)) {
    const indent = line.search(/\S/);
    if (indent === -1) continue;
    if (block >= 0 && indent > block) {
      found.push(line.trim().replace(/^-\s+/, ''));
      continue;
    }
    // A list may stand as deep as its key.
    if (block >= 0 && indent === block && line.trim().startsWith('- ') && !/^\s*-\s+[\w-]+:\s/.test(line)) {
      found.push(line.trim().slice(2));
      continue;
    }
    block = -1;
    const key = /^(\s*(?:-\s+)?)(?:run|script|before_script|after_script|command|commands):\s*(.*)$/.exec(line);
    if (!key) continue;
    if (/^(?:[|>][+-]?\s*)?$/.test(key[2] ?? '')) block = (key[1] ?? '').length;
    else found.push((key[2] ?? '').replace(/^(["'])(.*)\1$/, '$2'));
  }
  return found;
}

const shellLines = (text: string): readonly string[] =>
  text.split('\n').map((line) => line.replace(/^(?:exec|run)\s+/, ''));

const jenkinsSteps = (text: string): readonly string[] =>
  [...text.matchAll(/\bsh\s+(?:'([^'\n]+)'|"([^"\n]+)")/g)].map(([, a, b]) => a ?? b ?? '');

const PROGRAM =
  /^(?:\.\/[\w./-]+|npm|npx|pnpm|yarn|bun|deno|node|make|just|task|cargo|go|gofmt|golangci-lint|python3?|pip3?|uv|poetry|pdm|hatch|tox|nox|pytest|ruff|mypy|mvn|gradle|bundle|bin\/\w+|rake|composer|php|vendor\/bin\/\w+|dotnet|swift|mix|flutter|dart|cmake|ctest|ninja|meson|bazel|docker|docker-compose)(?: |$)/;

const isPlain = (line: string): boolean =>
  line.length <= MAX_LENGTH &&
  PROGRAM.test(line) &&
  !/[|;&<>$`\\(){}]/.test(line) &&
  !/token|secret|password/i.test(line);
