import { describe, expect, test } from '@jest/globals';
import type { ResolvedPath } from '../../shared/files-port.ts';
import { pathGate } from '../../tools/path-policy.ts';

const at = (real: string, kind: ResolvedPath['kind'] = 'file'): ResolvedPath => ({
  real,
  inside: real === '/project' || real.startsWith('/project/'),
  kind,
});

describe('O23, SAFETY R9: what a file tool may touch in edit mode', () => {
  test.each([
    ['/project/src/index.ts', 'allow', 'allow'],
    ['/project', 'allow', 'allow'],
    ['/project2/a.ts', 'ask', 'ask'],
    ['/etc/passwd', 'ask', 'ask'],
    ['/project/odinconfig.json', 'allow', 'deny'],
    ['/project/packages/a/odinconfig.json', 'allow', 'deny'],
    ['/project/.odin/state', 'allow', 'deny'],
    ['/home/dev/.odin/blobs/x', 'deny', 'deny'],
    ['/project/ODIN.md', 'allow', 'ask'],
    ['/project/.git/config', 'allow', 'ask'],
    ['/project/sub/.git/hooks/pre-commit', 'allow', 'ask'],
    ['/project/.github/workflows/ci.yml', 'allow', 'ask'],
    ['/project/.husky/pre-commit', 'allow', 'ask'],
    ['/project/.vscode/tasks.json', 'allow', 'ask'],
    ['/project/.mcp.json', 'allow', 'ask'],
    ['/project/.gitattributes', 'allow', 'ask'],
    ['/project/.bashrc', 'allow', 'ask'],
    ['/project/.gitignore', 'allow', 'allow'],
    ['/project/.env', 'ask', 'ask'],
    ['/project/.env.local', 'ask', 'ask'],
    ['/project/.env.example', 'allow', 'allow'],
    ['/project/certs/server.pem', 'ask', 'ask'],
    ['/project/id_ed25519', 'ask', 'ask'],
    ['/project/id_ed25519.pub', 'allow', 'allow'],
    ['/project/.npmrc', 'ask', 'ask'],
    ['/project/credentials', 'ask', 'ask'],
    ['/project/environment.ts', 'allow', 'allow'],
    ['/project/.gitx/config', 'allow', 'allow'],
  ])('%s: read %s, write %s', (path, read, write) => {
    expect(pathGate('read', at(path), '/project').verdict).toBe(read);
    expect(pathGate('write', at(path), '/project').verdict).toBe(write);
  });

  test('devices and pipes are refused, also inside', () => {
    expect(pathGate('read', at('/project/pipe', 'other'), '/project')).toMatchObject({
      verdict: 'deny',
      code: 'not_a_file',
    });
  });

  test('SAFETY 2.2: ask and plan mode may ask for outside paths, but not for secrets', () => {
    expect(pathGate('read', at('/etc/passwd'), '/project', 'ask').verdict).toBe('ask');
    expect(pathGate('read', at('/project/.env'), '/project', 'plan').verdict).toBe('deny');
    expect(pathGate('write', at('/etc/passwd'), '/project', 'ask').verdict).toBe('deny');
  });

  test('a question names the path and every reason', () => {
    expect(pathGate('write', at('/home/dev/.ssh/id_rsa'), '/project')).toEqual({
      verdict: 'ask',
      title: 'Write /home/dev/.ssh/id_rsa?',
      reasons: ['outside the project /project', 'may hold passwords or keys'],
      paths: [
        {
          path: '/home/dev/.ssh/id_rsa',
          outside: true,
          why: 'outside the project /project and may hold passwords or keys',
          access: 'write',
          under: '/home/dev/.ssh/id_rsa',
        },
      ],
      detail: '/home/dev/.ssh/id_rsa',
    });
  });
});
