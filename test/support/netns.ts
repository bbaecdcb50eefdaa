// An island: a network namespace of its own, whose only way out is a link that can be cut and mended, for the crash scripts that part
// processes (DURABILITY 15, test 6). What runs on it has pids of its own too, as in a container: nobody outside can see it, let alone
// end it. Needs Linux, root and `ip`; where the kernel will not make one it says why.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';

export interface Island {
  /** Where the outside listens, as seen from the island. */
  readonly gateway: string;
  /** Starts a program there. `/etc/hostname` says "inside" to it and to the commands that it runs. */
  spawn(argv: readonly string[], options: { readonly cwd?: string; readonly env: NodeJS.ProcessEnv }): ChildProcess;
  /** Nothing passes any more; nobody is told. */
  cut(): void;
  mend(): void;
  /** Ends what runs there. */
  close(): Promise<void>;
}

/** Gives the island, or why this machine cannot have one. `folder` is for its files; `program` is iproute2's. */
export function openIsland(folder: string, program = 'ip'): Outcome<Island> {
  const ip = (...args: readonly string[]) => execFileSync(program, args, { stdio: 'pipe' });
  const id = randomBytes(3).toString('hex');
  const [name, outer, inner] = [`odin-${id}`, `odin${id}o`, `odin${id}i`];
  // Addresses that are for benchmarks and are never on the internet.
  const net = `198.18.${(randomBytes(1)[0] ?? 0) & 0xff}`;
  const hostname = join(folder, 'inside');
  writeFileSync(hostname, 'inside\n');
  const enter = ['netns', 'exec', name, 'unshare', '--pid', '--fork', '--mount-proc', '--kill-child', 'sh', '-c'];
  const script = 'mount --bind "$0" /etc/hostname && exec "$@"';
  const remove = () => {
    try {
      ip('netns', 'del', name);
    } catch {
      // It was never made.
    }
  };
  try {
    ip('netns', 'add', name);
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
    ip('addr', 'add', `${net}.1/30`, 'dev', outer);
    ip('link', 'set', outer, 'up');
    ip('-n', name, 'addr', 'add', `${net}.2/30`, 'dev', inner);
    ip('-n', name, 'link', 'set', inner, 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip(...enter, script, hostname, 'true');
  } catch (error) {
    remove();
    return fail('failed', 'no_island', whyNot(error));
  }
  const living = new Set<{ readonly child: ChildProcess; readonly gone: Promise<void> }>();
  return ok({
    gateway: `${net}.1`,
    spawn(argv, options) {
      const stdio = ['pipe', 'pipe', process.env['ODIN_TEST_SHOW'] ? 'inherit' : 'ignore'] as const;
      const child = spawn(program, [...enter, script, hostname, ...argv], { ...options, stdio: [...stdio] });
      const { promise: gone, resolve } = Promise.withResolvers<void>();
      const one = { child, gone };
      living.add(one);
      child.once('close', () => {
        living.delete(one);
        resolve();
      });
      return child;
    },
    cut: () => void ip('link', 'set', outer, 'down'),
    mend: () => void ip('link', 'set', outer, 'up'),
    async close() {
      const ends = [...living].map(({ child, gone }) => {
        child.kill('SIGKILL');
        return gone;
      });
      await Promise.all(ends);
      remove();
    },
  });
}

function whyNot(error: unknown): string {
  const { code, stderr, message } = error as NodeJS.ErrnoException & { readonly stderr?: Buffer };
  const said =
    String(stderr ?? '')
      .trim()
      .split('\n')[0] || message.split('\n')[0];
  if (process.platform !== 'linux') return 'network namespaces are there on Linux alone';
  if (code === 'ENOENT') return 'there is no `ip` here: install iproute2';
  if (process.getuid?.() !== 0) return `a network namespace needs root (${said})`;
  return `this kernel or container makes no network namespace (${said})`;
}
