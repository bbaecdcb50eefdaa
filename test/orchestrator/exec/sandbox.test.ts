// Escapes that were tried for real (SAFETY 4 and 7). What a command wanted is looked for outside; its own word does not count.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { homedir, userInfo } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { detect } from '../../../orchestrator/exec/sandbox.ts';
import type { CommandRequest } from '../../../shared/exec-port.ts';
import { type ExecBench, openExecBench, processesWith, sandboxHere, UNCONFINED } from '../../support/exec-bench.ts';
import { codeOf } from '../../support/files-bench.ts';
import { until } from '../../support/until.ts';

const here = await sandboxHere();

test('SAFETY 2.4: where bubblewrap is missing or does not work, the reason and what to do are said', async () => {
  expect(await detect(['/nowhere/bwrap'])).toMatchObject({
    sandbox: null,
    status: { kind: 'none', reason: expect.stringMatching(/without a sandbox.*install bubblewrap/) },
  });
  const { status, sandbox } = await detect(['/bin/false']);
  expect(sandbox).toBeNull();
  expect(status).toMatchObject({
    kind: 'none',
    reason: expect.stringMatching(/\/bin\/false does not work here.*namespaces/i),
  });
});

test('SAFETY 2.4: the sandbox of this machine is found once, and says which it is', async () => {
  const bench = openExecBench();
  try {
    const status = await bench.port.sandbox();
    expect(status.kind === 'none' ? status.reason : status.kind).toBe(
      here ? 'bwrap' : status.kind === 'none' && status.reason,
    );
    expect(await bench.port.sandbox()).toBe(status);
  } finally {
    await bench.close();
  }
});

if (here) {
  let bench: ExecBench;
  /** Visible from inside, since it is in no place that is masked. */
  let outside: string;
  let victim: string;
  const servers: Server[] = [];

  beforeAll(() => {
    bench = openExecBench(here);
    outside = mkdtempSync('/var/tmp/odin-outside-');
    victim = join(outside, 'victim');
    writeFileSync(victim, 'whole\n');
    mkdirSync(`${bench.root}-evil`);
    for (const [name, text] of Object.entries({
      '.git/hooks/post-commit.sample': '',
      '.git/config': '[core]\n',
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/objects/x': '',
      '.git/refs/x': '',
      'odinconfig.json': '{}\n',
      '.odin/state': 'state\n',
      '.husky/pre-commit': 'true\n',
      '.vscode/tasks.json': '{}\n',
      '.git/modules/libs/sub/HEAD': 'ref: refs/heads/main\n',
      '.git/modules/libs/sub/config': '[core]\n',
      '.git/modules/libs/sub/hooks/x.sample': '',
      '.git/modules/libs/sub/worktrees/w/HEAD': 'ref: refs/heads/main\n',
      '.git/modules/libs/sub/worktrees/w/commondir': '../..\n',
      '.git/worktrees/tree/HEAD': 'ref: refs/heads/main\n',
      '.git/worktrees/tree/commondir': '../..\n',
      '.git/worktrees/tree/gitdir': '/elsewhere/.git\n',
    })) {
      bench.put(name, text);
    }
    symlinkSync(outside, join(bench.root, 'way-out'));
    symlinkSync(victim, join(bench.root, 'file-out'));
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await bench.close();
    rmSync(outside, { recursive: true, force: true });
  });

  const tried = (command: string, more?: Partial<CommandRequest>) => bench.run(command, more);

  test('SAFETY 4: without a sandbox the same attempts succeed, so they are real ones', async () => {
    const open = openExecBench(UNCONFINED);
    try {
      await open.run(`echo x > ${outside}/control; rm ${outside}/control; touch ${outside}/control`);
      expect(existsSync(join(outside, 'control'))).toBe(true);
    } finally {
      await open.close();
      rmSync(join(outside, 'control'), { force: true });
    }
  });

  test('SAFETY 4: the project can be written, and nothing beside it: by path, link, /proc, a sibling of the same prefix', async () => {
    const { output } = await tried(`
      echo inside > made
      echo x > ${outside}/by-path; echo x >> ${victim}
      echo x > way-out/by-link; echo x > file-out; rm -f file-out; mv ${victim} ./taken
      echo x > /proc/self/root${outside}/by-proc; echo x > /proc/1/root${outside}/by-one; echo x > /proc/self/cwd/way-out/y
      cd /proc/self/root${outside} && touch by-cwd; cd - >/dev/null
      touch ${bench.root}-evil/x ../project-evil/y /etc/odin-x ${homedir()}/odin-x /usr/odin-x /var/tmp/odin-x
      ln ${victim} hard && echo x >> hard; cp --reflink=auto made ${outside}/copied; echo end`);
    expect(output.head).toMatch(/end\n$/);
    expect(readFileSync(join(bench.root, 'made'), 'utf8')).toBe('inside\n');
    expect(readFileSync(victim, 'utf8')).toBe('whole\n');
    for (const name of ['by-path', 'by-link', 'by-proc', 'by-one', 'by-cwd', 'y', 'copied']) {
      expect({ name, there: existsSync(join(outside, name)) }).toEqual({ name, there: false });
    }
    const others = [
      `${bench.root}-evil/x`,
      `${bench.root}-evil/y`,
      '/etc/odin-x',
      `${homedir()}/odin-x`,
      '/usr/odin-x',
      '/var/tmp/odin-x',
    ];
    expect(others.filter((path) => existsSync(path))).toEqual([]);
  });

  test('SAFETY 4: mounting, remounting and new namespaces are refused, also as root', async () => {
    await tried(`
      mount -o remount,rw / ; mount -o remount,rw,bind /var/tmp; mount --bind ${outside} . ; umount /tmp; umount -l /
      unshare -Urm sh -c 'mount -o remount,rw / ; echo x > ${outside}/unshared'
      unshare -m sh -c 'echo x > ${outside}/unshared2'; nsenter -t 1 -m sh -c 'echo x > ${outside}/entered'
      mknod disk b 8 0; chroot / sh -c 'echo x > ${outside}/rooted'; echo x > ${outside}/after`);
    for (const name of ['unshared', 'unshared2', 'entered', 'rooted', 'after']) {
      expect({ name, there: existsSync(join(outside, name)) }).toEqual({ name, there: false });
    }
    expect(existsSync(join(bench.root, 'disk'))).toBe(false);
  });

  test('SAFETY 4: what git, editors and Odin run later cannot be changed, moved away or replaced', async () => {
    await tried(`
      echo 'touch pwned' > .git/hooks/post-commit; echo '[core]fsmonitor=./x' >> .git/config; git config core.fsmonitor ./x
      mv .git elsewhere; mkdir .git; rm -rf .git/hooks; mv .git/hooks h; ln -sf /tmp/x .git/config; mv .git/config c
      echo '{"AllowedCommands":["sh"]}' > odinconfig.json; rm -f odinconfig.json; mv odinconfig.json o; ln odinconfig.json hardened
      cp made odinconfig.json; sed -i s/{/[/ odinconfig.json; echo x > .odin/state; mv .odin d; rm -rf .odin
      echo x > .husky/pre-commit; mv .husky hh; echo x > .vscode/tasks.json; rm -rf .vscode; chmod 777 .git/config
      echo ok > .git/objects/made
      cd .git/modules/libs/sub; echo x > hooks/post-commit; echo x >> config; rm -rf hooks config; mv hooks h; mv config c
      echo ../evil > commondir; echo x > config.worktree; echo ok > made; echo ../evil > worktrees/w/commondir
      mv worktrees w; cd ..; mv sub s; cd ..; mv libs l; cd ..; mv modules m
      cd worktrees; echo ../../evil > tree/commondir; rm -f tree/commondir tree/gitdir; mv tree t; echo x > tree/config.worktree
      echo ok > tree/made; cd ..; mv worktrees w`);
    const inGit = (folder: string) => readdirSync(join(bench.root, '.git', folder)).toSorted();
    expect(inGit('modules/libs/sub')).toEqual(['HEAD', 'config', 'hooks', 'made', 'worktrees']);
    expect(readFileSync(join(bench.root, '.git/modules/libs/sub/worktrees/w/commondir'), 'utf8')).toBe('../..\n');
    expect(readFileSync(join(bench.root, '.git/modules/libs/sub/config'), 'utf8')).toBe('[core]\n');
    expect(inGit('modules/libs/sub/hooks')).toEqual(['x.sample']);
    expect(inGit('worktrees/tree')).toEqual(['HEAD', 'commondir', 'gitdir', 'made']);
    expect(readFileSync(join(bench.root, '.git/worktrees/tree/commondir'), 'utf8')).toBe('../..\n');
    expect(readFileSync(join(bench.root, '.git/config'), 'utf8')).toBe('[core]\n');
    expect(existsSync(join(bench.root, '.git/hooks/post-commit'))).toBe(false);
    expect(existsSync(join(bench.root, '.git/hooks/post-commit.sample'))).toBe(true);
    expect(readFileSync(join(bench.root, 'odinconfig.json'), 'utf8')).toBe('{}\n');
    expect(readFileSync(join(bench.root, '.odin/state'), 'utf8')).toBe('state\n');
    expect(readFileSync(join(bench.root, '.husky/pre-commit'), 'utf8')).toBe('true\n');
    expect(readFileSync(join(bench.root, '.vscode/tasks.json'), 'utf8')).toBe('{}\n');
    expect(existsSync(join(bench.root, 'elsewhere'))).toBe(false);
    expect(existsSync(join(bench.root, '.git/objects/made'))).toBe(true);
  });

  test('SAFETY 4: a link in the place of what is protected opens to the next command nothing of what it leads to', async () => {
    const home = mkdtempSync('/var/tmp/odin-user-');
    const own = openExecBench(here, home);
    try {
      writeFileSync(join(home, 'secret'), 'key\n');
      const way = (folder: string) => relative(join(own.root, folder), home);
      const attempts = [
        `ln -s ${way('')} .git; ln -s ${home} .vscode; ln -s ${home}/secret .envrc`,
        `rm .git; mkdir -p .git/modules/x; touch .git/HEAD .git/modules/x/HEAD
        ln -s ${way('.git/modules/x')} .git/modules/x/hooks; ln -s ${way('.git')} .git/worktrees`,
        'rm .git/worktrees; touch .git/worktrees',
      ];
      for (const attempt of attempts) {
        await own.run(attempt);
        const { output } = await own.run(`cat ${home}/secret .envrc; echo x > ${home}/made; echo end`);
        expect(output.head).toMatch(/end\n$/);
        expect(output.head).not.toMatch(/^key$/m);
        expect(readdirSync(home)).toEqual(['secret']);
      }
    } finally {
      await own.close();
      rmSync(home, { recursive: true, force: true });
    }
  });

  test('SAFETY 4: sockets on this machine are out of reach: loopback, and unix ones in /tmp, /run and the home of Odin', async () => {
    const heard: string[] = [];
    const listen = async (at: string | number) => {
      const server = createServer((socket) => {
        heard.push(String(at));
        socket.on('error', () => {});
        socket.end('secret\n');
      });
      servers.push(server);
      await once(typeof at === 'number' ? server.listen(at, '127.0.0.1') : server.listen(at), 'listening');
      return server.address() as AddressInfo;
    };
    const sockets = [join(bench.home, 'redis.sock'), join(bench.base, 'other.sock')];
    for (const path of sockets) await listen(path);
    const { port } = await listen(0);
    // Wherever this checkout lies, its Node must be seen in there, also when that is /tmp.
    const node = realpathSync(process.execPath);
    const extraPaths = [{ path: node, access: 'read' as const }];
    const dial = (to: string) =>
      `${node} -e 'require("net").connect(${to}).on("data",d=>process.stdout.write(d)).on("error",e=>console.log(e.code))'`;
    const script = [...sockets.map((path) => dial(JSON.stringify(path))), dial(String(port))].join('\n');
    const { output } = await tried(
      `${script}\n(exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3) 2>/dev/null; getent hosts example.com; echo end`,
      { extraPaths },
    );
    expect(output.head).not.toContain('secret');
    expect(output.head).toMatch(/ENOENT[\s\S]*end\n$/);
    expect(heard).toEqual([]);
    const allowed = await tried(dial(String(port)), { network: true, extraPaths });
    expect(allowed.output.head).toBe('secret\n');
    expect(heard).toEqual(['0']);
  });

  test('SAFETY 4: other processes are neither seen nor ended, and nothing stays behind', async () => {
    const bystander = spawn('sleep', ['100']);
    try {
      const word = `odin-behind-${Math.random()}`;
      const { output } = await tried(`
        kill -9 ${bystander.pid} ${process.pid} $PPID 1; cat /proc/${process.pid}/environ; ls /proc | grep -cE '^[0-9]+$'
        setsid bash -c 'trap "" TERM HUP; exec -a ${word} sleep 100' & disown; nohup bash -c 'exec -a ${word} sleep 100' &
        sleep 0.1; echo end`);
      expect(output.head).toMatch(/end\n$/);
      expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
      await until(() => processesWith(word).length === 0);
    } finally {
      bystander.kill('SIGKILL');
    }
  });

  test('SAFETY 4: homes are empty, and the state of Odin cannot be seen', async () => {
    writeFileSync(join(bench.home, 'config.json'), 'key');
    const { output } = await tried(
      `cat ${bench.home}/config.json; ls -A ${bench.home}; ls -d ~/.ssh ~/.bashrc ~/.profile; ls -A /run; echo end`,
    );
    expect(output.head).not.toContain('key\n');
    expect(output.head.match(/^(?!.*(No such file|cannot access)).*$/gm)?.filter((line) => line !== '')).toEqual([
      'end',
    ]);
  });

  test('G8: the read-only profile changes nothing, also through a repository that makes git run a program', async () => {
    const repo = join(bench.root, 'hostile');
    await openRepository(repo);
    await bench.run(`touch ${repo}/change`, { cwd: bench.root });
    const before = readFileSync(join(repo, '.git/index'));
    const { output } = await tried('touch x made2; rm -rf made; git status --short; git diff; git log -p; echo end', {
      cwd: repo,
      profile: 'read-only',
    });
    expect(output.head).toMatch(/\?\? change[\s\S]*end\n$/);
    expect(output.head).not.toContain('monitor ran');
    expect(readFileSync(join(repo, '.git/index'))).toEqual(before);
    expect(['x', 'made2', 'ran'].filter((name) => existsSync(join(repo, name)))).toEqual([]);
  });

  test('SAFETY 2.4: git knows who commits, and nothing else of the settings in the hidden home', async () => {
    const home = mkdtempSync('/var/tmp/odin-user-');
    const own = openExecBench(here, home);
    try {
      writeFileSync(
        join(home, '.gitconfig'),
        '[user]\n\tname = Ada L\n\temail = ada@example.org\n\tsigningkey = x\n[url "https://token@host"]\n\tinsteadOf = https://host\n',
      );
      const { output } = await own.run(
        'git init -q . && git commit -q --allow-empty -m one && git log --format="%an %ae"; cat ~/.gitconfig',
      );
      expect(output.head).toMatch(/^Ada L ada@example\.org\n\[user\]\n/m);
      expect(output.head).not.toMatch(/token|signingkey/);
      expect((await own.run(`ls -A ${userInfo().homedir} 2>/dev/null; echo ~`)).output.head).toMatch(
        new RegExp(`^${home}\n$`),
      );
    } finally {
      await own.close();
      rmSync(home, { recursive: true, force: true });
    }
  });

  test('O23: an approved path is opened as approved, and its neighbours are not', async () => {
    const other = join(bench.base, 'other');
    mkdirSync(join(other, 'free'), { recursive: true });
    writeFileSync(join(other, 'letter'), 'dear\n');
    linkSync(join(other, 'letter'), join(other, 'copy'));
    const read = await tried(`cat ${other}/letter; echo x >> ${other}/letter; ls ${other}`, {
      extraPaths: [{ path: join(other, 'letter'), access: 'read' }],
    });
    expect(read.output.head).toMatch(/^dear\n/);
    expect(read.output.head).not.toContain('free');
    expect(readFileSync(join(other, 'letter'), 'utf8')).toBe('dear\n');
    await tried(`echo x > ${other}/free/new; echo y > ${other}/beside; echo z > ${bench.home}/in`, {
      extraPaths: [
        { path: join(other, 'free/new'), access: 'write' },
        { path: bench.home, access: 'write' },
        { path: bench.base, access: 'read' },
      ],
    });
    expect(readFileSync(join(other, 'free/new'), 'utf8')).toBe('x\n');
    expect([join(other, 'beside'), join(bench.home, 'in')].filter((path) => existsSync(path))).toEqual([]);
  });

  test('SAFETY 2.4: the environment is made anew inside too, and the folder is gone with its mount', async () => {
    const { output } = await tried('cat /proc/1/environ /proc/self/environ | tr "\\0" "\\n"');
    expect(output.head).not.toContain('sk-not-for-commands');
    expect(codeOf(await bench.port.read('7.7.7'))).toBe('unknown_command');
  });
}

/** A repository whose settings make git run a program with every status. */
async function openRepository(repo: string): Promise<void> {
  mkdirSync(repo);
  const git = spawn('sh', ['-ec', SETUP], {
    cwd: repo,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: repo },
  });
  const [code] = await once(git, 'exit');
  if (code !== 0) throw new Error('git could not make a repository');
}

const SETUP = `git init -q .
git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
echo one > file; git add file
printf '#!/bin/sh\\necho monitor ran >&2; touch ran\\n' > monitor; chmod +x monitor; git add monitor
git config core.fsmonitor ./monitor; git config diff.external ./monitor`;
