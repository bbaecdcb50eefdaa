// Phases of a message from its calls (SPEC E6): single commands, and sequences as they come up in real work.

import { describe, expect, test } from '@jest/globals';
import { commandSign } from '../../shared/command-sign.ts';
import { afterCalls, detectPhase, FIRST_PHASE, type Phase, type PhaseCall } from '../../shared/phase.ts';

const shell = (command: string): PhaseCall => ({ tool: 'ExecuteCommand', args: { command } });
const read: PhaseCall = { tool: 'ReadFile', args: { file_path: 'a.ts' } };
const grep: PhaseCall = { tool: 'Grep', args: { pattern: 'x' } };
const todo: PhaseCall = { tool: 'TodoWrite', args: { todos: [] } };
const edit: PhaseCall = { tool: 'EditTool', args: { file_path: 'a.ts' } };
const write: PhaseCall = { tool: 'WriteFile', args: { file_path: 'b.ts' } };
const runTests = shell('npm test');

/** The phase after each of the calls. */
const phases = (...calls: readonly PhaseCall[]): readonly Phase[] =>
  calls.map((_, i) => detectPhase(calls.slice(0, i + 1)));

describe('E6: what a command is a sign of is told by its words, not by its tool', () => {
  test.each([
    ['npm test', 'validate'],
    ['npm run test:unit -- --watch=false', 'validate'],
    ['npm run -s lint', 'validate'],
    ['pnpm typecheck', 'validate'],
    ['yarn build', 'validate'],
    ['npx tsc -p . --noEmit', 'validate'],
    ['npx -y eslint src', 'validate'],
    ['pnpm exec vitest run', 'validate'],
    ['cd packages/core && cargo test --all 2>&1 | tail -20', 'validate'],
    ['CI=1 timeout 120 pytest -q tests/', 'validate'],
    ['python -m pytest', 'validate'],
    ['python3 -m unittest discover', 'validate'],
    ['uv run mypy .', 'validate'],
    ['go vet ./... && go test ./...', 'validate'],
    ['make', 'validate'],
    ['make -j4 check', 'validate'],
    ['./gradlew :app:testDebug', 'validate'],
    ['mvn -q verify', 'validate'],
    ['node --test', 'validate'],
    ['node scripts/test.mjs test/a.test.ts', 'validate'],
    ['bash scripts/check.sh', 'validate'],
    ['./run-tests.sh > /tmp/out.log', 'validate'],
    ['bash -c "cd sub; npm test"', 'validate'],
    ['for f in src/*.ts; do npx tsc "$f"; done', 'validate'],
    ['if ! cargo clippy; then echo bad; fi', 'validate'],
    ['prettier --check .', 'validate'],
    ['cmake --build build', 'validate'],
    ['git diff --stat && npm run check', 'validate'],
    ['sed -i s/a/b/ x.ts && npm test', 'validate'],
    ['prettier --write src', 'edit'],
    ['biome check --write .', 'edit'],
    ['npx eslint --fix src', 'edit'],
    ['sed -i "s/a/b/" src/*.ts', 'edit'],
    ['mkdir -p src/new && mv a.ts src/new/', 'edit'],
    ['cat > test.sh <<EOF\nnpm test\nEOF', 'edit'],
    ['echo done >> notes.md', 'edit'],
    ['git apply fix.patch', 'edit'],
    ['npm install left-pad', 'edit'],
    ['git checkout -- src/test.ts', 'edit'],
    ['git status', 'look'],
    ['git log --oneline -5 | cat', 'look'],
    ['ls -la test', 'look'],
    ['cat package.json', 'look'],
    ['grep -rn "npm test" docs', 'look'],
    ['rg "cargo test; make" .github 2>/dev/null', 'look'],
    ['find . -name "*.test.ts" | wc -l', 'look'],
    ['sed -n 1,20p build/test.txt', 'look'],
    ['head -5 a 2>&1 >/dev/null', 'look'],
    ['# npm test\nls', 'look'],
    ['echo npm test', null],
    ['git commit -m "fix; npm test"', 'look'],
    ['cd src', null],
    ['node server.js', null],
    ['sleep 1', null],
    ['constructor', null],
    ['__proto__ test', null],
    ['toString exec x', null],
    ['', null],
    ["echo 'not closed", null],
  ] as const)('%s → %s', (command, sign) => {
    expect(commandSign(command)).toBe(sign);
  });
});

test('E6: a bug is fixed: looked for, tested, edited and tested again', () => {
  expect(phases(grep, read, runTests, read, edit, runTests, edit, runTests)).toEqual([
    ...(['explore', 'explore', 'validate', 'validate'] as const),
    ...(['edit', 'validate', 'edit', 'validate'] as const),
  ]);
});

test('E6: a feature: a list is made while looking around, then kept while working', () => {
  expect(phases(grep, todo, read, read, read, read, write, todo, read, edit, todo, shell('git status'))).toEqual([
    'explore',
    ...Array.from({ length: 5 }, () => 'discover_and_plan'),
    ...Array.from({ length: 6 }, () => 'edit'),
  ]);
});

test('E6: one look does not end the work, three in a row do; a todo list after that is a plan again once the work is far enough back', () => {
  expect(phases(edit, read, grep, edit, read, grep, shell('git diff'), read)).toEqual([
    ...Array.from({ length: 6 }, () => 'edit'),
    ...(['explore', 'explore'] as const),
  ]);
  expect(detectPhase([runTests, read, todo, read])).toBe('validate');
  expect(detectPhase([edit, read, read, read, todo])).toBe('discover_and_plan');
});

test('E6: calls that say nothing leave the phase, and arguments that cannot be read say nothing', () => {
  expect(
    phases(edit, shell('node server.js'), { tool: 'CommandOutput', args: {} }, { tool: 'constructor', args: 1 }),
  ).toEqual(Array.from({ length: 4 }, () => 'edit'));
  expect(
    detectPhase([edit, { tool: 'ExecuteCommand', args: null }, { tool: 'ExecuteCommand', args: { command: 7 } }]),
  ).toBe('edit');
  expect(detectPhase([])).toBe('explore');
});

test('E6: step by step is the same as all at once, and what is remembered stays small', () => {
  const calls = Array.from({ length: 60 }, (_, i) => [read, edit, runTests, todo, grep][(i * 7) % 5] as PhaseCall);
  let trail = FIRST_PHASE;
  for (const call of calls) trail = afterCalls(trail, [call]);
  expect(trail.phase).toBe(detectPhase(calls));
  expect(trail.signs.length).toBeLessThanOrEqual(6);
});
