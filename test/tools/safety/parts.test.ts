import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { decide } from '../../../tools/safety/decide.ts';
import { resolveOnDisk } from '../../../tools/safety/fs-links.ts';
import { compileLists } from '../../../tools/safety/lists.ts';
import { readSedScript } from '../../../tools/safety/programs/sed-script.ts';
import { suggestRule } from '../../../tools/safety/suggest.ts';
import { factsOf } from './cases.ts';

test('O23: on disk, links are followed as the kernel does and missing files resolve as if they were there', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'odin-links-')));
  try {
    mkdirSync(join(root, 'project/a/b'), { recursive: true });
    mkdirSync(join(root, 'elsewhere/deep'), { recursive: true });
    writeFileSync(join(root, 'elsewhere/secret.txt'), 'x');
    symlinkSync('../elsewhere/deep', join(root, 'project/out'));
    symlinkSync('a/b', join(root, 'project/in'));
    symlinkSync('loop', join(root, 'project/loop'));
    const resolve = (path: string): string | undefined => resolveOnDisk(join(root, 'project/').concat(path));
    expect(resolve('out/../secret.txt')).toBe(realpathSync(join(root, 'elsewhere/secret.txt')));
    expect(resolve('in/../new.txt')).toBe(join(root, 'project/a/new.txt'));
    expect(resolve('loop/x')).toBeUndefined();
    const project = join(root, 'project');
    const facts = { ...factsOf(), root: project, cwd: project, home: join(root, 'home'), resolve: resolveOnDisk };
    const classes = ['cat in/x', 'cat out/x', 'cat out/../secret.txt', 'touch out/x', 'cat loop'].map(
      (command) => decide(command, facts).class,
    );
    expect(classes).toEqual([
      'allow-readonly',
      'outside-approval',
      'outside-approval',
      'outside-approval',
      'outside-approval',
    ]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('O18, R14: an allowed entry that stands for any program is ignored with a warning, a forbidden one counts', () => {
  const lists = compileLists(
    ['bash', 'python3 -c', 'env', 'npm test', 'node --test', 'python3 -m pytest'],
    ['python3'],
  );
  expect(lists.allowed).toEqual([
    ['npm', 'test'],
    ['node', '--test'],
    ['python3', '-m', 'pytest'],
  ]);
  expect(lists.warnings).toHaveLength(3);
  expect(lists.warnings[0]).toContain('"bash"');
  expect(lists.forbidden).toEqual([['python3']]);
});

test('G6: "always" offers exactly the command that was shown, and nothing that could stand for more', () => {
  const offered = (command: string): string | undefined => suggestRule(command, factsOf());
  expect(offered('npm test -- --watch=false')).toBe('npm test -- --watch=false');
  expect(offered('git -C src commit -m "a b"')).toBe("git commit -m 'a b'");
  expect(offered('./scripts/build.sh')).toBe('./scripts/build.sh');
  const refused = [
    'node',
    'bash',
    'make',
    'npm',
    'npm test > log',
    'npm test $X',
    'npm test && rm a',
    'FOO=1 npm test',
    'npm test &',
    'echo ${x@P}',
  ];
  for (const command of [...refused, 'ls', 'touch a', 'cat /etc/hosts', 'sudo ls', 'python3 -c', 'npm run *']) {
    expect([command, offered(command)]).toEqual([command, undefined]);
  }
});

test('G6: a rule that was offered covers its command and not its neighbour', () => {
  const rule = suggestRule("npm run 'my task'", factsOf()) ?? '';
  const withRule = (command: string): string => decide(command, factsOf({ allowed: [rule] })).class;
  expect(rule).toBe("npm run 'my task'");
  expect(withRule('npm run "my task"')).toBe('deny-in-read-only');
  expect(withRule('npm run my task')).toBe('needs-approval-edit');
});

test('O18, R16: sed scripts are read to their end whatever their delimiters, brackets and blocks', () => {
  const writes = (script: string): readonly string[] => readSedScript(script).writes;
  expect(writes('s/[/]/x/;w out')).toContain('out');
  expect(writes('s,a\\,b,c,gw out')).toEqual(['out']);
  expect(writes('/a/,/b/{s|x|y|\nw out\n}')).toEqual(['out']);
  expect(writes('\\_a/b_!w out')).toEqual(['out']);
  expect(writes('a\\\ntext w no\\\nw no\n$w out')).toEqual(['out']);
  expect(writes(':x;tx;w out')).toEqual(['out']);
  expect(writes('y/abc/w\\/x/')).toEqual([]);
  expect(readSedScript('s/[/]/x/;s/a/b/e').runs).toBe(true);
  expect(readSedScript('1,3e ls').runs).toBe(true);
  expect(readSedScript('s/e/e/g').runs).toBe(false);
  expect(readSedScript('r /etc/passwd').reads).toEqual(['/etc/passwd']);
  expect(readSedScript('s/a/b').unclear).toBe(true);
  expect(readSedScript('k').unclear).toBe(true);
});

test("SAFETY R13: what names Odin's own Redis, by socket, port or host, is forbidden; other hosts, ports and files are not", () => {
  const control = { paths: ['/state/odin', '/srv/redis.sock'], ports: [6390], hosts: ['redis.example.org'] };
  const judged = (command: string) => decide(command, { ...factsOf(), control }).class;
  for (const command of [
    ...['redis-cli -p 6390 ping', 'nc 127.0.0.1 6390', 'curl http://localhost:6390/', 'nc localhost 6390 < src/a'],
    ...['redis-cli -h redis.example.org -p 6390 flushall', 'nc redis.example.org 6390', 'nc REDIS.example.org. 6390'],
    ...[
      'redis-cli -u rediss://redis.example.org:6390',
      'openssl s_client -connect 127.0.0.1:6390 | cat; nc 127.0.0.1 6390',
    ],
    ...[
      'curl --unix-socket /srv/redis.sock http://x/',
      'socat - UNIX-CONNECT:/srv/redis.sock',
      'nc -U /srv/redis.sock',
    ],
    ...['cat /srv/redis.sock', 'ls /state/odin', 'rm /srv/redis.sock', 'echo x > /srv/redis.sock'],
  ]) {
    expect([command, judged(command)]).toEqual([command, 'forbidden']);
  }
  for (const command of [
    'nc localhost 6391',
    'curl https://redis.example.org/docs',
    'curl https://my-redis.example.org:6390/',
  ]) {
    expect([command, judged(command)]).toEqual([command, 'needs-approval-edit']);
  }
  expect(judged('ls /srv/redis.sock-of-others')).toBe('outside-approval');
});
