// The process behind launcher.ts: a bash that forks shims, and what is said between it and Odin. Its environment is empty, its folder
// the root's. It counts bytes: where no language is set, a C library may take one in which a letter has several.
//
// What a shim does from `started` on is what shim.ts's does. Whether a command ran is told by its folder, never by what is said here.

import { spawn } from 'node:child_process';
import type { Duplex, Writable } from 'node:stream';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';

/**
 * Reads `number cgroup` from 0 and forks that shim, which says `ready`, then reads `keep bytes` and so many bytes from 3: assignments of
 * quoted words. With `warm` they are a sandbox to be held until the command comes (warm-sandbox.ts), which then gets `inner`, or is ended.
 * Nobody writes to 4, which ends with Odin. What else is open was so where Odin was started, an editor's socket for
 * example, and is no command's. At its own end it clears the cgroups away, once nothing of it runs any more.
 */
const SCRIPT = `
LC_ALL=C
for fd in /proc/self/fd/*; do fd=\${fd##*/}; if [ "$fd" -gt 4 ]; then eval "exec $fd>&-"; fi; done
set -m
export -n PWD OLDPWD SHLVL
read -r boot </proc/sys/kernel/random/boot_id
declare -A groups
shim() {
  set +m
  trap : TERM INT HUP PIPE
  exec </dev/null
  read -ra stat </proc/self/stat
  me="\${stat[0]} \${stat[21]}@\${boot%%-*}"
  { echo 800 >/proc/self/oom_score_adj; } 2>/dev/null
  joined=
  if [ -n "$cgroup" ] && { echo "\${stat[0]}" >"$cgroup/cgroup.procs"; } 2>/dev/null; then joined=joined; fi
  echo "ready $n $me $joined" >&3
  warm=
  while :; do
    read -r keep bytes <&3 || exit
    read -r -N "$bytes" order <&3 || exit
    argv=() inner=
    eval "$order"
    if [ "$keep" != warm ]; then break; fi
    coproc WARM { trap - INT QUIT; exec "\${argv[@]}" 7>&1 >"$dir/out" 2>&1 3<&- 4<&- 9>"$dir/cwd"; }
    warm=$WARM_PID to=\${WARM[1]} said=
    read -r said <&"\${WARM[0]}"
    echo "warm $n $warm $said" >&3
  done
  if [ \${#argv[@]} = 0 ]; then echo "refused $n" >&3; exit; fi
  echo "taken $n" >&3
  set -C
  { echo "$me" >"$dir/started"; } 2>/dev/null || { echo "end $n" >&3; exit 97; }
  set +C
  if [ "$keep" = with-owner ]; then
    { trap : TERM INT HUP; read -r never <&4; kill -TERM 0; sleep 1; kill -KILL 0; } </dev/null >/dev/null 2>&1 3<&- &
  fi
  if [ -n "$inner" ]; then
    printf '%s\\n%s' "\${#inner}" "$inner" >&"$to"
    while :; do
      wait "$warm"
      code=$?
      if [ "$code" -le 128 ] || ! kill -0 "$warm"; then break; fi
    done
  else
    if [ -n "$warm" ]; then exec {to}>&-; fi
    "\${argv[@]}" </dev/null >"$dir/out" 2>&1 3<&- 4<&- 9>"$dir/cwd"
    code=$?
  fi
  echo "$code" >"$dir/exit"
  echo "end $n" >&3
  if [ "$keep" = with-owner ]; then kill -KILL 0; fi
  exit
}
while read -r n cgroup; do
  if [ -n "$cgroup" ]; then groups[$cgroup]=; fi
  shim &
  jobs >/dev/null
done
wait
if [ \${#groups[@]} != 0 ]; then rmdir -- "\${!groups[@]}" 2>/dev/null; fi
`;

const LOOK_MS = 100;

export interface LauncherShell {
  isOpen(): boolean;
  fork(n: number, cgroup: string | null): void;
  /** What shim `n` says of this kind, without kind and number; null when nothing will be said any more. Asked for before it can be. */
  answer(kind: 'ready' | 'taken' | 'warm', n: number): Promise<readonly string[] | null>;
  /** To the shim that is ready. */
  send(keep: 'with-owner' | 'alone' | 'warm', order: string): void;
  /** Resolves when this shim says that it ends, or is found dead. */
  watch(n: number, identity: ProcessIdentity): Promise<void>;
  /** Takes no more: what is prepared ends, what runs goes on, also a background command. */
  retire(): void;
}

const REFUSED: readonly string[] = ['refused'];

export function openLauncherShell(): LauncherShell {
  const child = spawn('/bin/bash', ['--norc', '--noprofile', '-c', SCRIPT, 'odin-exec'], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const [forks, , , talk, owner] = child.stdio as unknown as readonly [Writable, null, null, Duplex, Duplex];
  const answers = new Map<string, (words: readonly string[] | null) => void>();
  const running = new Map<number, { readonly identity: ProcessIdentity; over(): void }>();
  let isOpen = true;
  let rest = '';
  let looks: NodeJS.Timeout | undefined;

  const settle = (key: string, words: readonly string[] | null) => {
    answers.get(key)?.(words);
    answers.delete(key);
  };
  const heard = (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) {
      const [kind, n = '', ...words] = line.split(' ');
      if (kind === 'end') running.get(Number(n))?.over();
      else settle(`${kind === 'refused' ? 'taken' : kind} ${n}`, kind === 'refused' ? REFUSED : words);
    }
  };
  /** One that was killed says nothing. */
  const look = () => {
    for (const { identity, over } of running.values()) if (!isAlive(identity)) over();
  };
  const ended = () => {
    isOpen = false;
    for (const key of [...answers.keys()]) settle(key, null);
  };
  child.once('error', ended).once('exit', ended).unref();
  for (const end of [forks, talk, owner]) {
    end.on('error', () => {});
    (end as Duplex & { unref(): void }).unref();
  }
  owner.resume();
  talk.setEncoding('utf8').on('data', heard);
  talk.once('close', ended);

  return {
    isOpen: () => isOpen,
    fork: (n, cgroup) => void forks.write(`${n} ${cgroup ?? ''}\n`),
    answer: (kind, n) =>
      new Promise((resolve) => {
        if (isOpen) answers.set(`${kind} ${n}`, resolve);
        else resolve(null);
      }),
    send: (keep, order) => void talk.write(`${keep} ${Buffer.byteLength(order)}\n${order}`),
    watch: (n, identity) =>
      new Promise((resolve) => {
        const over = () => {
          running.delete(n);
          if (running.size === 0) clearInterval(looks);
          resolve();
        };
        if (running.size === 0) looks = setInterval(look, LOOK_MS).unref();
        running.set(n, { identity, over });
      }),
    retire() {
      isOpen = false;
      forks.end();
      talk.end();
    },
  };
}
