import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { buildProgram } from '../cli/program.ts';
import { parseRedisUrl } from '../orchestrator/redis-url.ts';

const COMPOSE = new URL('../docker-compose.yml', import.meta.url);

interface Service {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly unknown[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
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

test('issue 7: what docker-compose.yml and its Dockerfile name is there, and each service is of keys that the format has', () => {
  const { services } = parse(readFileSync(COMPOSE, 'utf8')) as { services: Readonly<Record<string, Service>> };
  const keys = ['build', 'command', 'depends_on', 'environment', 'healthcheck', 'image', 'network_mode', 'restart'];
  const known = [...keys, 'stop_grace_period', 'user', 'volumes', 'working_dir'];
  for (const service of Object.values(services)) {
    expect(Object.keys(service).filter((key) => !known.includes(key))).toEqual([]);
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect([Object.keys(services[name] ?? {}).includes('healthcheck'), condition]).toEqual([true, 'service_healthy']);
    }
  }
  expect(services['worker']?.volumes).toContainEqual({
    ...{ type: 'bind', source: `\${ODIN_KEY_FILE:-~/.odin/job-key}`, target: '/run/odin-key', read_only: true },
    bind: { create_host_path: false },
  });
  const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
  const lines = readFileSync(at('Dockerfile'), 'utf8').split('\n');
  const copied = lines.filter((line) => line.startsWith('COPY ')).flatMap((line) => line.split(/\s+/).slice(1, -1));
  const run = lines.flatMap((line) => /^RUN node (\S+)/.exec(line)?.[1] ?? []);
  const linked = lines.flatMap((line) => /ln -s \/opt\/odin\/(\S+)/.exec(line)?.[1] ?? []);
  const left = readFileSync(at('.dockerignore'), 'utf8').split('\n');
  expect([copied.length, run.length, linked.length]).toEqual([3, 1, 1]);
  for (const path of [...copied, ...run, ...linked]) {
    expect([path, existsSync(at(path)), left.includes(path.split('/')[0] ?? '')]).toEqual([path, true, false]);
  }
});

const hasCompose = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0;
if (!hasCompose) process.stderr.write('skipped: docker compose is not here, so it was not asked about the file\n');

(hasCompose ? test : test.skip)(
  'issue 7: `docker compose config` takes the file, where docker compose is there',
  () => {
    const args = ['compose', '--file', fileURLToPath(COMPOSE), 'config', '--quiet'];
    const run = spawnSync('docker', args, { encoding: 'utf8', env: { ...process.env, ODIN_REPO: '/srv/project' } });
    expect([run.stderr, run.status]).toEqual(['', 0]);
  },
);
