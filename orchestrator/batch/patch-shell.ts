// Takes patches by a small shell that stays. To start a child costs a process the more the more memory it has, and all that time its main
// thread stands still: a worker in the middle of its tasks pays 20 ms and more for each git, the shell less than one. It ends with the
// process that started it, since its input does.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import { gitEnv, SAFE, STAGED_PATCH, stageScript } from './git.ts';

export interface PatchShell {
  /** Everything that was changed since the commit, new files included and ignored ones not, as one patch; '' when nothing was. */
  patchOf(folder: string, commit: string): Promise<Outcome<string>>;
  close(): Promise<void>;
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const NOT_RUN = 128;

const GIT = `git ${SAFE.join(' ')} --no-pager`;
/**
 * A line is a number, a commit and a folder; the answer is the number and the exit code. The last subshell collects what has ended. What it
 * has written goes with it, also when its process was killed: a patch may hold a secret.
 */
const LOOP = `
while IFS=' ' read -r id commit folder; do
  {
    ( cd "$folder" && ${stageScript(GIT)} && ${GIT} ${STAGED_PATCH.join(' ')} "$commit" -- ) </dev/null >"$1/$id.out" 2>"$1/$id.err"
    echo "$id $?"
  } &
  ( : )
done
wait
rm -rf "$1"`;

export function openPatchShell(): PatchShell {
  const waiting = new Map<number, (code: number) => void>();
  let shell: { readonly child: ChildProcess; readonly answers: string } | null = null;
  let count = 0;

  const start = () => {
    const answers = mkdtempSync(join(tmpdir(), 'odin-patch-'));
    const child = spawn('/bin/sh', ['-c', LOOP, 'sh', answers], {
      env: gitEnv(),
      cwd: '/',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const over = () => {
      if (shell?.child === child) shell = null;
      rmSync(answers, { recursive: true, force: true });
      for (const end of waiting.values()) end(NOT_RUN);
      waiting.clear();
    };
    child.on('error', over).on('exit', over);
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [id = 0, code = NOT_RUN] = line.split(' ').map(Number);
      waiting.get(id)?.(code);
      waiting.delete(id);
    });
    shell = { child, answers };
    return shell;
  };

  return {
    async patchOf(folder, commit) {
      if (folder.includes('\n')) return unread('the folder has a line end in its name.');
      const { child, answers } = shell ?? start();
      count += 1;
      const id = count;
      const [out, err] = [join(answers, `${id}.out`), join(answers, `${id}.err`)];
      const { promise, resolve } = Promise.withResolvers<number>();
      waiting.set(id, resolve);
      child.stdin?.write(`${id} ${commit} ${folder}\n`);
      try {
        if ((await promise) !== 0) return unread((await firstLine(err)) || 'git ended early.');
        if ((await stat(out)).size > MAX_OUTPUT_BYTES) return unread('it is over 64 MB.');
        const patch = await readFile(out, 'utf8');
        return patch.includes('\uFFFD')
          ? fail('failed', 'no_patch', 'What was changed is not all UTF-8 text.')
          : ok(patch);
      } finally {
        await Promise.all([out, err].map((path) => rm(path, { force: true })));
      }
    },
    async close() {
      if (shell === null) return;
      const { child } = shell;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.stdin?.end();
      await gone;
    },
  };
}

const unread = (why: string) => fail('failed', 'no_patch', `What was changed cannot be read: ${why}`);

const firstLine = async (path: string): Promise<string> =>
  (await readFile(path, 'utf8').catch(() => '')).trim().split('\n')[0] ?? '';
