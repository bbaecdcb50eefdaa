// Random scripts run by the real bash, in a sandbox whose PATH holds nothing but logging stubs: every command that bash
// ran must have been seen by decide(). Seen means that a ForbiddenCommands entry of its name makes the script forbidden.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { decide } from '../../../tools/safety/decide.ts';
import { severity } from '../../../tools/safety/decision.ts';
import { printedSeed, randomFrom } from '../../support/seed.ts';
import { factsOf } from './cases.ts';

/** ODIN_FUZZ_RUNS sets more; `npm run fuzz` runs thousands. */
const SCRIPTS = Number(process.env['ODIN_FUZZ_RUNS'] ?? 300);
const STUBS = Array.from({ length: 8 }, (_, n) => `stub${n}`);
const seed = printedSeed('tools/safety fuzz');

function scriptsFrom(start: number): readonly string[] {
  const random = randomFrom(start);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const name = (): string => {
    const plain = pick(STUBS);
    const at = 1 + random(plain.length - 1);
    const [head, tail] = [plain.slice(0, at), plain.slice(at)];
    return pick([
      plain,
      plain,
      plain,
      `${head}\\${tail}`,
      `${head}''${tail}`,
      `'${head}'"${tail}"`,
      `${head}\\\n${tail}`,
      `{${plain},a}`,
      `$'\\x73'${plain.slice(1)}`,
    ]);
  };
  const word = (depth: number): string =>
    pick<() => string>([
      () =>
        pick([
          'a',
          '"b c"',
          "'d;e'",
          '$x',
          '"${y:-z}"',
          '$((1+2))',
          '#',
          'a#b',
          '{c,d}',
          '*',
          '\\;',
          '~',
          '>/dev/null',
          '2>&1',
          "'$(stub0)'",
        ]),
      () => pick(['a', '-n', '--', 'x=1']),
      () => `$(${list(depth - 1)})`,
      () => `"$(${list(depth - 1)})"`,
      () => `\`${pick(STUBS)} a\``,
      () => `"\${x:-$(${simple(depth - 1)})}"`,
      () => `$(( $(${simple(depth - 1)}) + 1 ))`,
      () => `<(${simple(depth - 1)})`,
      () => `"a\`${pick(STUBS)}\`b"`,
    ])();
  const simple = (depth: number): string => {
    const words = Array.from({ length: random(3) }, () => (depth > 0 ? word(depth) : pick(['a', "'b'", '"c"'])));
    const before = pick([
      '',
      '',
      '',
      '',
      'x=1 ',
      '! ',
      'time ',
      'command ',
      'builtin command ',
      'eval ',
      'exec ',
      '</dev/null ',
    ]);
    return `${before}${[name(), ...words].join(' ')}`;
  };
  const list = (depth: number): string => {
    if (depth <= 0) return simple(0);
    const inner = (): string => list(depth - 1);
    return pick<() => string>([
      () => simple(depth),
      () => `${inner()}${pick([';', '\n', ' && ', ' || ', ' | ', ' |& ', ' # c\n', ' ; : ; '])}${inner()}`,
      () => `( ${inner()} )`,
      () => `{ ${inner()}; }`,
      () => `if ${inner()}; then ${inner()}; else ${inner()}; fi`,
      () => `for i in a $(${simple(0)}); do ${inner()}; done`,
      () => `while ${inner()}; do ${inner()}; break; done`,
      () => `case a in ${pick(['a', 'b', '*', '(a', 'a|b'])}) ${inner()};; esac`,
      () => `f${random(3)}() { ${inner()}; }; f${random(3)}`,
      () => `[[ -n $(${simple(0)}) && a == b* ]]`,
      () => `x=$(${inner()}); ${simple(0)}`,
      () => `a=(1 $(${simple(0)}) 2)`,
      () => `cat <<EOF\n$(${simple(0)}) \`${pick(STUBS)}\`\nEOF\n`,
      () => `cat <<'EOF'\n$(${simple(0)})\nEOF\n${simple(0)}`,
      () => `cat <<-A <<B\n\t$(${simple(0)})\n\tA\n$(${simple(0)})\nB\n`,
      () => `cat <<< "$(${simple(0)})"`,
      () => `bash -c '${pick(STUBS)} a; ${pick(STUBS)}'`,
      () => `(( $(${simple(0)}) + 1 ))`,
      () => `for ((;;)); do ${inner()}; break; done`,
    ])();
  };
  const noise = [
    '(',
    ')',
    '{',
    '}',
    ';',
    '"',
    "'",
    '`',
    '$',
    '\\',
    '\n',
    ' ',
    '#',
    '<',
    '<<',
    '|',
    '!',
    '$(',
    '((',
    '))',
    '[[',
    ']]',
    '\\\n',
    '*',
    '~',
  ];
  return Array.from({ length: SCRIPTS }, (_, at) => {
    let script = list(3);
    for (let times = at % 2 === 0 ? 0 : 1 + random(2); times > 0; times--) {
      const where = random(script.length);
      script = script.slice(0, where) + pick(noise) + script.slice(where + random(2));
    }
    return script;
  });
}

/** Runs all scripts in one sandbox; the names that ran, by script. Undefined with a reason where there is no sandbox. */
function runAll(scripts: readonly string[], folder: string): readonly (readonly string[])[] | string {
  const found = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true'], { encoding: 'utf8' });
  if (found.status !== 0) return found.error?.message ?? found.stderr.trim();
  const stubs = join(folder, 'stubs');
  mkdirSync(stubs);
  for (const stub of STUBS) {
    writeFileSync(join(stubs, stub), '#!/bin/bash\nprintf "%s\\n" "${0##*/}" >> "$ODIN_LOG"\n', { mode: 0o755 });
  }
  for (const real of ['cat', 'bash'])
    writeFileSync(join(stubs, real), `#!/bin/bash\nexec /usr/bin/${real} "$@"\n`, { mode: 0o755 });
  for (const [at, script] of scripts.entries()) writeFileSync(join(folder, `script-${at}`), script);
  const loop = `for ((n = 0; n < ${scripts.length}; n++)); do ODIN_LOG=${folder}/log-$n PATH=${stubs} /usr/bin/timeout -s KILL 2 /bin/bash --norc --noprofile ${folder}/script-$n </dev/null >/dev/null 2>&1; done; true`;
  execFileSync(
    'bwrap',
    [
      '--unshare-all',
      '--die-with-parent',
      '--cap-drop',
      'ALL',
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--bind',
      folder,
      folder,
      '--chdir',
      stubs,
      '--',
      '/bin/bash',
      '-c',
      loop,
    ],
    { stdio: 'ignore' },
  );
  return scripts.map((_, at) => {
    const log = join(folder, `log-${at}`);
    return existsSync(log) ? [...new Set(readFileSync(log, 'utf8').trim().split('\n'))] : [];
  });
}

test(
  `O18, R1: decide() sees every command that the real bash runs in ${SCRIPTS} random scripts`,
  () => {
    const scripts = scriptsFrom(seed);
    const folder = mkdtempSync(join(tmpdir(), 'odin-fuzz-'));
    try {
      const ran = runAll(scripts, folder);
      if (typeof ran === 'string') {
        console.warn(
          `bash was not compared: bwrap does not work here (${ran}). Install bubblewrap and allow user namespaces.`,
        );
        expect(scripts.map((script) => severity(decide(script, factsOf()).class) >= 0)).not.toContain(false);
        return;
      }
      const missed = scripts.flatMap((script, at) =>
        (ran[at] ?? [])
          .filter(
            (name) => decide(script, factsOf({ forbidden: [name] })).class !== 'forbidden' && !isUnknownProgram(script),
          )
          .map((name) => ({ name, script })),
      );
      const commands = ran.reduce((sum, names) => sum + names.length, 0);
      console.info(`${commands} commands run by bash in ${SCRIPTS} scripts, ${missed.length} not seen by decide()`);
      expect(missed).toEqual([]);
      expect(ran.filter((names) => names.length > 0).length).toBeGreaterThan(SCRIPTS / 4);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  120_000 + SCRIPTS * 200,
);

/** A program or text whose name is not known in advance is asked about as such, whatever it turns out to be. */
function isUnknownProgram(script: string): boolean {
  const decision = decide(script, factsOf());
  return (
    decision.class === 'outside-approval' &&
    severity(decision.class) > 0 &&
    decision.reasons.some((reason) => /not known/.test(reason)) &&
    decision.op === 'exec'
  );
}
