import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { denialOf, foldPermissions, isGranted, NO_PERMISSIONS, openQuestions } from '../../agent/permissions-memory.ts';
import { loadConfig } from '../../orchestrator/config.ts';
import { RULED_TOOLS } from '../../orchestrator/config-schema.ts';
import { openRuleStore, tooWideRule } from '../../orchestrator/permissions-rules.ts';
import { acceptFolder, revokeTrust } from '../../orchestrator/trust.ts';
import type { JournalEvent, PermissionDecision, Question } from '../../shared/events.ts';
import { TOOLS } from '../../tools/registry.ts';

let folder: string;
let home: string;
let root: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'odin-rules-')));
  [home, root] = [join(folder, 'home'), join(folder, 'project')];
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const question = (id: string, more: Partial<Question> = {}): Question => ({
  id,
  title: 'Run it?',
  reasons: [],
  detail: 'npm test',
  argsHash: id,
  ...more,
});
const ask = (given: Question): JournalEvent => ({ type: 'perm.ask', op: '1.1.1', question: given, at: 1 });
const answer = (questionId: string, decision: PermissionDecision, by = 'terminal'): JournalEvent => ({
  type: 'perm.answer',
  op: '1.1.1',
  questionId,
  decision,
  by,
  at: 2,
});
const fold = (...events: JournalEvent[]) => events.reduce(foldPermissions, NO_PERMISSIONS);

test('DURABILITY 8: what is open, answered and granted is a fold of the journal; the next message forgets all but the grants', () => {
  const [one, two] = [question('1', { rule: 'npm test' }), question('2')];
  const memory = fold(ask(one), ask(two), ask(one), answer('1', 'allow_session'));
  expect(openQuestions(memory).map(({ question: { id } }) => id)).toEqual(['2']);
  expect(memory.answers.get('1')).toEqual({ decision: 'allow_session', by: 'terminal' });
  expect(isGranted(memory, question('3', { rule: 'npm test' }))).toBe(true);
  expect(isGranted(memory, question('3', { rule: 'npm run' }))).toBe(false);
  expect(isGranted(memory, question('3'))).toBe(false);
  const done = foldPermissions(memory, { type: 'msg.done', seq: 1 } as JournalEvent);
  expect(openQuestions(done)).toEqual([]);
  expect(done.answers.size).toBe(0);
  expect(isGranted(done, question('4', { rule: 'npm test' }))).toBe(true);
});

test('a denial by a person holds for exactly the same question; one by nobody does not', () => {
  const memory = fold(ask(question('1')), answer('1', 'deny'), ask(question('2')), answer('2', 'deny', 'timeout'));
  expect(denialOf(memory, question('9', { argsHash: '1' }))).toMatchObject({ by: 'terminal' });
  expect(denialOf(memory, question('9', { argsHash: '1', detail: 'npm  test' }))).toBeUndefined();
  expect(denialOf(memory, question('9', { argsHash: '2' }))).toBeUndefined();
});

test('SAFETY 2.3: rules for always are kept by project in the state folder, for the user alone, and a revoked one holds nowhere', async () => {
  const [one, other] = [openRuleStore(home, root), openRuleStore(home, root)];
  expect(one.rules()).toEqual([]);
  await Promise.all([one.add('npm test', 1), other.add('npm run lint', 2), one.add('npm test', 3)]);
  expect(other.rules().toSorted()).toEqual(['npm run lint', 'npm test']);
  expect(other.rules()).toBe(other.rules());
  expect(openRuleStore(home, '/elsewhere').rules()).toEqual([]);
  expect(statSync(join(home, 'permissions.json')).mode & 0o777).toBe(0o600);
  const at = one.list().findIndex(({ rule }) => rule === 'npm test');
  expect(await one.revoke(at + 1)).toBe('npm test');
  expect(await one.revoke(7)).toBeNull();
  expect(other.rules()).toEqual(['npm run lint']);
  writeFileSync(join(home, 'permissions.json'), '{"version": 1, "projects": {"x": "npm test"}}');
  expect(one.rules()).toEqual([]);
  expect(() => one.list()).toThrow('is not as Odin wrote it');
});

test('a rule that stands for every program is none', () => {
  expect(['bash', 'env', 'node -e', 'sh -c', ''].filter((rule) => !tooWideRule(rule))).toEqual([]);
  expect(['npm test', './build.sh', 'node scripts/x.js'].filter(tooWideRule)).toEqual([]);
});

test("SAFETY 2.3: a project's odinconfig.json only tightens until its exact text is accepted, and again when it changes", async () => {
  const text = `{"AllowedCommands": ["npm test"], "ForbiddenCommands": ["git push"],
    "permissions": {"WriteFile": "allow", "EditTool": "deny", "LS": "ask", "Grep": "ask"}}`;
  writeFileSync(join(root, 'odinconfig.json'), text);
  mkdirSync(home);
  writeFileSync(
    join(home, 'config.json'),
    '{"permissions": {"LS": "deny", "Grep": "allow"}, "AllowedCommands": ["make"]}',
  );
  const settled = async () => {
    const config = await loadConfig({ projectRoot: root, home });
    return config.ok ? config.value : config.failure.message;
  };
  const tight = {
    allowedCommands: ['make'],
    forbiddenCommands: ['git push'],
    toolRules: { LS: 'deny', EditTool: 'deny', Grep: 'ask' },
  };
  const waiting = expect.arrayContaining(['AllowedCommands', 'permissions.WriteFile', 'permissions.LS']);
  expect(await settled()).toMatchObject({ ...tight, trust: { status: 'untrusted', waiting } });
  await acceptFolder(home, root, text, 1);
  expect(statSync(join(home, 'trust.json')).mode & 0o777).toBe(0o600);
  expect(await settled()).toMatchObject({
    allowedCommands: ['make', 'npm test'],
    forbiddenCommands: ['git push'],
    toolRules: { LS: 'ask', EditTool: 'deny', Grep: 'ask', WriteFile: 'allow' },
    trust: { status: 'trusted', waiting: [] },
  });
  writeFileSync(join(root, 'odinconfig.json'), `${text} `);
  expect(await settled()).toMatchObject({ ...tight, trust: { status: 'changed', waiting } });
  writeFileSync(join(root, 'odinconfig.json'), text);
  expect([await revokeTrust(home, root), await revokeTrust(home, root)]).toEqual([true, false]);
  expect(await settled()).toMatchObject({ ...tight, trust: { status: 'untrusted' } });
  writeFileSync(join(home, 'trust.json'), '{}');
  expect(await settled()).toContain('is not as Odin wrote it');
});

test('every tool of the registry that can be ruled is named in the settings', () => {
  const known: readonly string[] = [...RULED_TOOLS, 'ExecuteCommand'];
  expect([...TOOLS.keys()].filter((name) => !known.includes(name))).toEqual([]);
});
