import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { buildProgram } from '../cli/program.ts';
import { parseRedisUrl } from '../orchestrator/redis-url.ts';

interface Service {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly user: string;
}

test('issue 7: docker-compose.yml runs a Redis that syncs every write and workers that Odin would start, on one socket', () => {
  const text = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  const { services } = parse(text) as { services: Readonly<Record<'redis' | 'worker', Service>> };
  const { redis, worker } = services;
  const settings = new Map(
    redis.command.flatMap((word, i, all) => (word.startsWith('--') ? [[word, all[i + 1]] as const] : [])),
  );
  expect(Object.fromEntries(settings)).toMatchObject({
    ...{ '--port': '0', '--appendonly': 'yes', '--appendfsync': 'always', '--maxmemory-policy': 'noeviction' },
  });
  const target = parseRedisUrl(worker.environment?.['REDIS_URL'] ?? '');
  expect(target.options.path).toBe(settings.get('--unixsocket'));
  expect(redis.volumes).toContain('./fleet/run:/run/odin');
  expect(worker.volumes).toContain('./fleet/run:/run/odin');
  expect(redis.user).toBe(worker.user);
  const [program, name, ...rest] = worker.command;
  const command = buildProgram().program.commands.find((one) => one.name() === name);
  const options = command?.options.map(({ long }) => long);
  expect([program, name]).toEqual(['odin', 'worker']);
  for (const word of rest.filter((one) => one.startsWith('--'))) expect(options).toContain(word);
});
