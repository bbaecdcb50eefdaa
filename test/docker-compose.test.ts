import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { buildProgram } from '../cli/program.ts';
import { parseRedisUrl } from '../orchestrator/redis-url.ts';

const COMPOSE = new URL('../docker-compose.yml', import.meta.url);

interface Service {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly user: string;
}

test('issue 7: docker-compose.yml runs a Redis that syncs every write, workers and a dashboard that Odin would start, on one socket', () => {
  const text = readFileSync(COMPOSE, 'utf8');
  const { services } = parse(text) as { services: Readonly<Record<'redis' | 'worker' | 'dashboard', Service>> };
  const { redis } = services;
  const settings = new Map(
    redis.command.flatMap((word, i, all) => (word.startsWith('--') ? [[word, all[i + 1]] as const] : [])),
  );
  expect(Object.fromEntries(settings)).toMatchObject({
    ...{ '--port': '0', '--appendonly': 'yes', '--appendfsync': 'always', '--maxmemory-policy': 'noeviction' },
  });
  expect(redis.volumes).toContain('./fleet/run:/run/odin');
  const { commands } = buildProgram().program;
  for (const name of ['worker', 'dashboard'] as const) {
    const service = services[name];
    const target = parseRedisUrl(service.environment?.['REDIS_URL'] ?? '');
    expect(target.options.path).toBe(settings.get('--unixsocket'));
    expect(service.volumes).toContain('./fleet/run:/run/odin');
    expect(service.user).toBe(redis.user);
    const [program, command, ...rest] = service.command;
    expect([program, command]).toEqual(['odin', name]);
    const options = commands.find((one) => one.name() === name)?.options.map(({ long }) => long);
    for (const word of rest.filter((one) => one.startsWith('--'))) expect(options).toContain(word);
  }
});

const hasCompose = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0;

(hasCompose ? test : test.skip)(
  'issue 7: `docker compose config` takes the file, where docker compose is there',
  () => {
    const args = ['compose', '--file', fileURLToPath(COMPOSE), 'config', '--quiet'];
    const run = spawnSync('docker', args, { encoding: 'utf8', env: { ...process.env, ODIN_REPO: '/srv/project' } });
    expect([run.stderr, run.status]).toEqual(['', 0]);
  },
);
