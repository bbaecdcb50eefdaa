import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openCommands } from '../../../orchestrator/exec/commands.ts';
import { controlPlaces } from '../../../orchestrator/exec/control-places.ts';
import { sandboxHere } from '../../support/exec-bench.ts';
import { must } from '../../support/files-bench.ts';

const here = await sandboxHere();

test('SAFETY R13: where Odin itself is, whatever its Redis is reached by', () => {
  const places = (redis: string) => controlPlaces('/nowhere/odin', redis);
  expect(places('/nowhere/odin/redis/redis.sock')).toEqual({
    ...{ paths: ['/nowhere/odin', '/nowhere/odin/redis/redis.sock'], ports: [], hosts: [] },
  });
  expect(places('unix:/nowhere/redis.sock').paths).toEqual(['/nowhere/odin', '/nowhere/redis.sock']);
  expect(places('redis://127.0.0.1:6390')).toEqual({ paths: ['/nowhere/odin'], ports: [6390], hosts: ['127.0.0.1'] });
  expect(places('rediss://redis.example.org/2')).toMatchObject({ ports: [6379], hosts: ['redis.example.org'] });
  expect(places('redis://[::1]:7000')).toMatchObject({ ports: [7000], hosts: ['::1'] });
  expect(places('')).toEqual({ paths: ['/nowhere/odin'], ports: [], hosts: [] });
});

(here ? test : test.skip)(
  'SAFETY R13: the socket of a Redis of your own does not answer in the sandbox, wherever it lies',
  async () => {
    const base = mkdtempSync('/var/tmp/odin-control-');
    const [root, home, redis] = ['project', 'home', 'redis.sock'].map((name) => join(base, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(root);
    mkdirSync(home);
    let heard = 0;
    const server = createServer((socket) => {
      heard++;
      socket.end();
    }).listen(redis);
    const closing = new AbortController();
    const options = { root, home, userHome: homedir(), env: process.env, closing: closing.signal };
    const dial = `bash -c 'printf PING | timeout 2 nc -U ${redis}; timeout 2 python3 -c "import socket; socket.socket(socket.AF_UNIX).connect(\\"${redis}\\")"'`;
    const node = `${process.execPath} -e 'require("net").connect("${redis}").on("error", (e) => console.log(e.code)).on("connect", () => process.exit(9))'`;
    const run = async (redisWhere: string) => {
      const commands = openCommands({ ...options, redis: redisWhere });
      const request = { cwd: root, timeoutMs: 10_000, profile: 'read-write', network: false } as const;
      const extraPaths = [{ path: process.execPath, access: 'read' } as const];
      const hooks = { signal: closing.signal, onOutput: () => {}, intend: async () => {} };
      const opKey = redisWhere === '' ? '1.1.1' : '1.1.2';
      const port = commands.portFor('s');
      return must(await port.run({ ...request, extraPaths, opKey, command: `${dial} 2>/dev/null; ${node}` }, hooks));
    };
    try {
      expect((await run(`unix:${redis}`)).output.head).toMatch(/^E[A-Z]+\n$/);
      expect(heard).toBe(0);
      // Without being told where it is, it would have answered.
      expect(await run('')).toMatchObject({ exitCode: 9 });
      expect(heard).toBeGreaterThan(0);
      expect(existsSync(redis)).toBe(true);
      expect(readFileSync(join(home, 'commands/s/1.1.2/out'), 'utf8')).not.toContain('PONG');
    } finally {
      closing.abort();
      server.close();
      rmSync(base, { recursive: true, force: true });
    }
  },
);
