import { expect, test } from '@jest/globals';
import { decide } from '../../../tools/safety/decide.ts';
import { decisionsByMode } from '../../../tools/safety/modes.ts';
import { type Case, factsOf, readCases } from './cases.ts';

const groupsOf = (cases: readonly Case[]): [string, Case[]][] => [...Map.groupBy(cases, (one) => one.category)];

const answerOf = (answer: string): string => (answer === 'run' ? 'allow' : answer);

function judged(one: Case): object {
  const decision = decide(one.command, one.facts);
  const modes = decisionsByMode(decision, { sandbox: one.facts.sandbox, canAsk: true });
  return {
    id: one.id,
    command: one.command,
    class: decision.class,
    ask: answerOf(modes.ask),
    plan: answerOf(modes.plan),
    edit: answerOf(modes.edit),
  };
}

const expected = (one: Case): object => ({
  id: one.id,
  command: one.command,
  class: one.expected,
  ask: one.readOnly,
  plan: one.readOnly,
  edit: one.edit,
});

for (const [table, size] of [
  ['commands.tsv', 236],
  ['commands-more.tsv', 629],
] as const) {
  const cases = readCases(table);
  for (const [category, group] of groupsOf(cases)) {
    test(`O18, O23: the ${group.length} cases of ${category} in ${table} get their class and the decision of each mode`, () => {
      expect(group.map(judged)).toEqual(group.map(expected));
    });
  }
  test(`O18: ${table} was read to its end`, () => {
    expect(cases).toHaveLength(size);
    expect(new Set(cases.map((one) => one.id)).size).toBe(size);
  });
}

test('O18: every decision but a plain permission says why, and every outside one names what is outside', () => {
  for (const one of [...readCases('commands.tsv'), ...readCases('commands-more.tsv')]) {
    const decision = decide(one.command, one.facts);
    expect(decision.reasons.join('\n')).not.toContain('\u0000');
    if (decision.class !== 'allow-readonly') expect([one.id, decision.reasons.length > 0]).toEqual([one.id, true]);
    if (decision.class === 'outside-approval' && !/config|git (?:remote|\$)/.test(one.command)) {
      expect([one.id, decision.paths.some((path) => path.outside)]).toEqual([one.id, true]);
    }
  }
});

test('O23: a question names the resolved path, not the path as it was written', () => {
  const decision = decide('cat src/../link/passwd', factsOf({ links: { '/project/link': '/etc' } }));
  expect(decision).toMatchObject({
    class: 'outside-approval',
    op: 'read',
    paths: [{ path: '/etc/passwd', outside: true }],
  });
});

test('O23: each path says whether it is read or written, and what is both is written', () => {
  const accesses = (command: string) =>
    Object.fromEntries(decide(command, factsOf()).paths.map(({ path, access }) => [path, access]));
  expect(accesses('cat /etc/x > copy')).toEqual({ '/etc/x': 'read', '/project/copy': 'write' });
  expect(accesses('cp /o/a /o/b; cat /o/b; ls /o/c')).toMatchObject({
    '/o/a': 'read',
    '/o/b': 'write',
    '/o/c': 'read',
  });
  expect(accesses('cat /o/a; echo x >> /o/a')).toEqual({ '/o/a': 'write' });
  expect(accesses('rm /o/a; chmod +x /o/b; mv /o/c .')).toMatchObject({
    '/o/a': 'write',
    '/o/b': 'write',
    '/o/c': 'write',
  });
  expect(accesses('python3 /o/a.py')).toEqual({ '/o/a.py': 'write' });
  expect(accesses('/o/bin/tool /o/data')).toEqual({ '/o/bin/tool': 'read', '/o/data': 'write' });
});

test("O18: a decision's operation is the furthest of its parts", () => {
  const op = (command: string): string => decide(command, factsOf()).op;
  expect([
    op('ls'),
    op('cat .env'),
    op('touch a'),
    op('rm a'),
    op('make'),
    op('curl https://example.test'),
    op('rm a; curl https://example.test; ls'),
  ]).toEqual(['read', 'secret', 'write', 'delete', 'exec', 'network', 'network']);
});

test('O18: an outside read next to anything more is denied in the modes that only read', () => {
  const answers = (command: string): string =>
    decisionsByMode(decide(command, factsOf()), { sandbox: true, canAsk: true }).ask;
  expect(answers('cat /etc/hosts')).toBe('ask');
  expect(answers('cat /etc/hosts .env')).toBe('deny');
  expect(answers('cat /etc/hosts > a')).toBe('deny');
  expect(answers('cat /etc/hosts; make')).toBe('deny');
});

test('O24: with nobody to ask, whatever would be asked is denied', () => {
  const alone = (command: string): object =>
    decisionsByMode(decide(command, factsOf()), { sandbox: true, canAsk: false });
  expect(alone('ls')).toEqual({ ask: 'run', plan: 'run', edit: 'run' });
  expect(alone('touch a')).toEqual({ ask: 'deny', plan: 'deny', edit: 'run' });
  expect(alone('rm a')).toEqual({ ask: 'deny', plan: 'deny', edit: 'deny' });
  expect(alone('cat /etc/hosts')).toEqual({ ask: 'deny', plan: 'deny', edit: 'deny' });
});

test('O18: without a sandbox only literal reads run unasked, and edit mode asks for everything else', () => {
  const bare = (command: string): object =>
    decisionsByMode(decide(command, factsOf({ sandbox: false })), { sandbox: false, canAsk: true });
  expect(bare('cat package.json')).toEqual({ ask: 'run', plan: 'run', edit: 'run' });
  for (const command of ['cat *.ts', 'echo $x', 'ls {a,b}', 'cat "$PWD/a"', 'echo $(date)', 'ls > /dev/null; cat a?']) {
    expect([command, bare(command)]).toEqual([command, { ask: 'ask', plan: 'ask', edit: 'run' }]);
  }
  expect(bare('touch a')).toEqual({ ask: 'deny', plan: 'deny', edit: 'ask' });
  expect(bare('sudo ls')).toEqual({ ask: 'deny', plan: 'deny', edit: 'deny' });
});
