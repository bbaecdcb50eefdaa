// A dashboard in a process of its own, as it is installed: the newest bundle, whatever the sources do meanwhile; the launcher when none
// was built.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface BenchServer {
  readonly pid: number;
  readonly link: string;
  stop(): Promise<void>;
}

export async function startServer(home: string, cwd: string): Promise<BenchServer> {
  const server = spawn(process.execPath, [...entry(), 'dashboard', '--port', '0'], {
    cwd,
    env: { ...process.env, ODIN_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  return {
    pid: server.pid ?? 0,
    link: line.toString().trim(),
    async stop() {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    },
  };
}

/** What Node is given to run it. */
function entry(): readonly string[] {
  try {
    const dist = fileURLToPath(new URL('../dist/', import.meta.url));
    const { build } = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8')) as { readonly build: string };
    const code =
      'const { main } = await import(process.argv[1]); process.exitCode = await main(process.argv.slice(2));';
    return ['--input-type=module', '-e', code, join(dist, build, 'main.js')];
  } catch {
    return [fileURLToPath(new URL('../bin/odin.js', import.meta.url))];
  }
}
