import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decide } from '../../../tools/safety/decide.ts';
import { severity } from '../../../tools/safety/decision.ts';
import { printedSeed } from '../../support/seed.ts';
import { allCases, type Case, factsOf } from './cases.ts';

const seed = printedSeed('tools/safety properties');
const runs = { seed, numRuns: 600 };

const CASES = allCases();
const anyCase = fc.constantFrom(...CASES);

/** Commands of plain words, which can be quoted anew without a change of meaning. */
const PLAIN = CASES.filter(({ command }) => /^[\w./,:@+-]+( [\w./,:@=+-]+)*$/.test(command) && command.length < 500);
const plainCase = fc.constantFrom(...PLAIN);

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Fails with the command itself, which a bare number would hide. */
function expectNotLower(command: string, one: Case): void {
  const [now, before] = [decide(command, one.facts).class, decide(one.command, one.facts).class];
  if (severity(now) < severity(before))
    throw new Error(`${one.id} ${before} became ${now}: ${JSON.stringify(command)}`);
}

/** One way to write a character that bash reads as the character itself. */
const QUOTINGS: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => `'${char}'`,
  (char) => `"${char}"`,
  (char) => `\\${char}`,
  (char) => `$'\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}'`,
  (char) => `''${char}`,
  (char) => `${char}""`,
  (char) => `\\\n${char}`,
];

test('O18, R2: quoting the words of a command anew does not change its class', () => {
  const ways = fc.array(fc.nat(QUOTINGS.length - 1), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(plainCase, ways, (one, choice) => {
      const command = [...one.command]
        .map((char, at) => (char === ' ' ? ' ' : (QUOTINGS[choice[at % choice.length] ?? 0]?.(char) ?? char)))
        .join('');
      const [now, before] = [decide(command, one.facts).class, decide(one.command, one.facts).class];
      if (now !== before) throw new Error(`${one.id} ${before} became ${now}: ${JSON.stringify(command)}`);
    }),
    runs,
  );
});

const WRAPPINGS: readonly ((command: string) => string)[] = [
  (command) => `bash -c ${quoted(command)}`,
  (command) => `sh -c ${quoted(`bash -c ${quoted(command)}`)}`,
  (command) => (command.includes('<<') ? `${command}\ntrue` : `${command}; true`),
  (command) => `true; ${command}`,
  (command) => `(\n${command}\n)`,
  (command) => `{\n${command}\n}`,
  (command) => `odin_q() {\n${command}\n}; odin_q`,
  (command) => `if true; then\n${command}\nfi`,
  (command) => `while true; do\n${command}\ndone`,
  (command) => `case x in x)\n${command}\n;; esac`,
  (command) => `for odin_q in a b; do\n${command}\ndone`,
  (command) => `echo "$(\n${command}\n)"`,
  (command) => `cat <(\n${command}\n)`,
  (command) => `! {\n${command}\n}`,
  (command) => `true && {\n${command}\n}`,
  (command) => `{\n${command}\n} | cat`,
];

test('O18, R1: wrapping a command in other syntax never lowers its class', () => {
  const wrapping = fc.constantFrom(...WRAPPINGS);
  fc.assert(
    fc.property(anyCase, fc.array(wrapping, { minLength: 1, maxLength: 3 }), (one, layers) => {
      expectNotLower(
        layers.reduce((command, wrap) => wrap(command), one.command),
        one,
      );
    }),
    { ...runs, numRuns: 1500 },
  );
});

test('O18, R1: a request is at least as severe as each of the commands it is made of', () => {
  fc.assert(
    fc.property(plainCase, plainCase, fc.constantFrom(' && ', ' || ', '; ', ' | ', '\n'), (one, other, joint) => {
      if (/^(?:cd|pushd|popd|exit|set|export)/.test(one.command)) return;
      const facts = { ...one.facts, ...factsOf() };
      const whole = severity(decide(one.command + joint + other.command, facts).class);
      expect(whole).toBeGreaterThanOrEqual(severity(decide(one.command, facts).class));
      expect(whole).toBeGreaterThanOrEqual(severity(decide(other.command, facts).class));
    }),
    runs,
  );
});

test('O18, R12: sudo in front, however it is wrapped, is always forbidden', () => {
  const prefix = fc.constantFrom(
    'sudo ',
    'sudo -n ',
    '/usr/bin/sudo ',
    "s'u'do ",
    'env sudo ',
    'timeout 5 sudo ',
    'command sudo ',
    'nice sudo -u x ',
    'xargs sudo ',
    '\\sudo ',
  );
  fc.assert(
    fc.property(plainCase, prefix, (one, sudo) => {
      expect(decide(sudo + one.command, one.facts).class).toBe('forbidden');
    }),
    runs,
  );
});

test('O18, R14: ForbiddenCommands never lower a class, AllowedCommands lift nothing but approval', () => {
  fc.assert(
    fc.property(anyCase, anyCase, (one, other) => {
      const bare = { ...one.facts, allowed: [], forbidden: [] };
      const before = decide(one.command, bare).class;
      const withForbidden = decide(one.command, { ...bare, forbidden: [other.command, one.command] }).class;
      expect(severity(withForbidden)).toBeGreaterThanOrEqual(severity(before));
      const withAllowed = decide(one.command, {
        ...bare,
        allowed: [other.command, one.command, one.command.split(' ')[0] ?? ''],
      }).class;
      if (before === 'needs-approval-edit') expect(['needs-approval-edit', 'deny-in-read-only']).toContain(withAllowed);
      else expect(withAllowed).toBe(before);
    }),
    runs,
  );
});

test('O18: any text at all gets a decision, the same one each time', () => {
  const pieces = fc.constantFrom(
    ...[
      'ls',
      'rm',
      'a',
      ' ',
      '\n',
      ';',
      '&',
      '|',
      '(',
      ')',
      '{',
      '}',
      '$',
      '`',
      '"',
      "'",
      '\\',
      '<',
      '>',
      '<<',
      '$((',
      '))',
      '${',
      '[[',
      ']]',
    ],
    ...[
      'if',
      'then',
      'fi',
      'do',
      'done',
      'case',
      'esac',
      'in',
      ';;',
      'f()',
      '=',
      '~',
      '/',
      '..',
      '*',
      '?',
      '[',
      ']',
      '!',
      '#',
      'EOF',
      '-c',
      'bash',
      'é',
      '\u0000',
    ],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), fc.string({ maxLength: 20 }), (parts, tail) => {
      const command = parts.join('') + tail;
      expect(decide(command, factsOf())).toEqual(decide(command, factsOf()));
    }),
    { ...runs, numRuns: 3000 },
  );
});

test('O18, R0: deep nesting and huge input are refused, not crashed on', () => {
  const deep = ['(', '{ ', '$(', '`(', '"$(', '$((', '${x:-', '<(', 'if ', '((', 'bash -c "', 'f() { '];
  for (const open of deep) {
    for (const times of [51, 501, 5_001]) {
      expect([open, times, decide(open.repeat(times), factsOf()).class]).toEqual([open, times, 'forbidden']);
    }
  }
  for (const [open, close] of [
    ['(', ')'],
    ['$(', ')'],
    ['{ ', '; }'],
  ] as const) {
    expect(['allow-readonly', 'forbidden', 'outside-approval']).toContain(
      decide(`${open.repeat(300)}ls${close.repeat(300)}`, factsOf()).class,
    );
  }
  expect(decide('a'.repeat(2 ** 20), factsOf()).class).toBe('forbidden');
  expect(decide('ls;'.repeat(2 ** 18), factsOf()).class).toBe('forbidden');
  expect(decide(`ls ${'{a,b}'.repeat(2_000)}`, factsOf()).class).toBe('outside-approval');
  const nested = Array.from({ length: 60 }).reduce<string>((body) => `while true; do cd a; ${body} done;`, 'ls;');
  expect(decide(nested, factsOf()).class).toBe('outside-approval');
  const calls = Array.from({ length: 40 }, (_, n) => `f${n + 1}() { f${n}; f${n}; }`).join('\n');
  expect(decide(`f0() { ls; }\n${calls}\nf40`, factsOf()).class).toBe('forbidden');
});
