// R10's programs that create, copy, move, change or delete files, as option grammars and what their operands are.

import { type Call, type Judge, needs } from '../judge.ts';
import { type Grammar, grammar, scan } from '../options.ts';
import { type Access, judgeCatastrophe, judgePath } from '../paths.ts';
import { type Field, plainField } from '../words.ts';
import { entryIn } from './link.ts';
import { judgeOptions } from './read.ts';

/** What each operand is: all the same, or sources and a last target. `skip` leading ones are text (a mode). */
interface Writer {
  readonly rules: Grammar;
  readonly operands?: Access;
  readonly sources?: Access;
  readonly skip?: number;
  readonly verb?: string;
}

const COPY = [
  '-abdfHilLnPpRrsuvxXZTcD -S# -t> --archive --attributes-only --backup? --copy-contents --force --interactive --link --dereference',
  '--no-clobber --no-dereference --preserve? --no-preserve# --parents --recursive --reflink? --remove-destination --sparse#',
  '--strip-trailing-slashes --symbolic-link --suffix# --target-directory> --no-target-directory --update? --verbose',
  '--one-file-system --context? --exchange --debug --keep-directory-symlink',
];

const WRITERS: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  [
    'touch',
    {
      rules: grammar('-acfhm -d# -t# -r~ --date# --reference~ --time# --no-create --no-dereference'),
      operands: 'write',
    },
  ],
  ['mkdir', { rules: grammar('-pvZ -m# --mode# --parents --verbose --context?'), operands: 'write' }],
  ['mkfifo', { rules: grammar('-Z -m# --mode# --context?'), operands: 'write' }],
  ['tee', { rules: grammar('-aip --append --ignore-interrupts --output-error?'), operands: 'write' }],
  ['cp', { rules: grammar(...COPY), sources: 'read' }],
  ['mv', { rules: grammar(...COPY), sources: 'move' }],
  [
    'install',
    {
      rules: grammar(
        '-bcCDdpTvZ -s! -m# -g# -o# -S# -t> --backup? --compare --directory --mode# --owner# --group# --suffix# --target-directory>',
        '--preserve-timestamps --no-target-directory --verbose --strip! --strip-program!',
      ),
      sources: 'read',
    },
  ],
  [
    'chmod',
    {
      rules: grammar(
        '-cfvRHLP --changes --silent --quiet --verbose --no-preserve-root --preserve-root --recursive --reference~',
      ),
      operands: 'mode',
      skip: 1,
      verb: 'Changing',
    },
  ],
  [
    'rm',
    {
      rules: grammar(
        '-fiIrRdvxPW --force --interactive? --one-file-system --no-preserve-root --preserve-root? --recursive --dir --verbose',
      ),
      operands: 'delete',
      verb: 'Deleting',
    },
  ],
  ['rmdir', { rules: grammar('-pv --parents --verbose --ignore-fail-on-non-empty'), operands: 'delete' }],
  ['unlink', { rules: grammar('-'), operands: 'delete' }],
  [
    'shred',
    {
      rules: grammar(
        '-fuvxz -n# -s# --force --iterations# --random-source< --size# --remove? --verbose --exact --zero',
      ),
      operands: 'delete',
    },
  ],
  ['truncate', { rules: grammar('-co -s# -r~ --no-create --io-blocks --size# --reference~'), operands: 'delete' }],
  [
    'chown',
    {
      rules: grammar(
        '-cfvRhHLP --changes --silent --quiet --verbose --dereference --no-dereference --from# --no-preserve-root --preserve-root --recursive --reference~',
      ),
      operands: 'mode',
      skip: 1,
      verb: 'Changing',
    },
  ],
  [
    'gzip',
    {
      rules: grammar(
        '-123456789cdfhklLnNqrtvV -S# --stdout --decompress --uncompress --force --keep --list --no-name --name --quiet --recursive --suffix# --test --verbose --fast --best --rsyncable --synchronous',
      ),
      operands: 'write',
    },
  ],
  [
    'bzip2',
    {
      rules: grammar(
        '-123456789cdfkqstvzL --stdout --decompress --force --keep --quiet --small --test --verbose --compress --fast --best',
      ),
      operands: 'write',
    },
  ],
  [
    'xz',
    {
      rules: grammar(
        '-0123456789cdefklqtvzQ -T# -F# -M# -S# -C# --stdout --decompress --force --keep --list --quiet --test --verbose --compress --threads# --format# --check# --memlimit# --extreme --suffix# --fast --best --robot --files?',
      ),
      operands: 'write',
    },
  ],
  [
    'zstd',
    {
      rules: grammar(
        '-0123456789cdfklqrtvz -o> -T# -D< -M# --stdout --decompress --force --keep --list --quiet --test --verbose --compress --rm --ultra --threads# --output-dir-flat> --output-dir-mirror>',
      ),
      operands: 'write',
    },
  ],
  [
    'split',
    {
      rules: grammar(
        '-adexuzv0123456789 -b# -C# -l# -n# -t# -a# --bytes# --lines# --line-bytes# --number# --suffix-length# --additional-suffix# --numeric-suffixes? --hex-suffixes? --filter! --elide-empty-files --unbuffered --separator# --verbose',
      ),
      sources: 'read',
    },
  ],
  [
    'zip',
    {
      rules: grammar(
        '-0123456789rjqvuyXDeoglcFASw -x# -i# -n# -t# -m! -T! -P! -d! --recurse-paths --junk-paths --quiet --exclude# --include# --symlinks --no-extra --update --password! --unzip-command! --move!',
      ),
      operands: 'write',
    },
  ],
  ['unzip', { rules: grammar('-lvtzpcnojqauCLVKfDW -d> -x# -P# -O# -I#'), operands: 'read' }],
]);

const ALIASES: Readonly<Record<string, string>> = {
  gunzip: 'gzip',
  zcat: 'gzip',
  bunzip2: 'bzip2',
  bzcat: 'bzip2',
  unxz: 'xz',
  xzcat: 'xz',
  lzma: 'xz',
  unlzma: 'xz',
  unzstd: 'zstd',
  zstdcat: 'zstd',
  chgrp: 'chown',
  gcp: 'cp',
  gmv: 'mv',
};

/** Whether a program is one of those. */
export const isWriter = (name: string): boolean => WRITERS.has(ALIASES[name] ?? name);

/** Judges a call of one of R10's programs. */
export function judgeWriter(judge: Judge, call: Call): void {
  const name = ALIASES[call.name] ?? call.name;
  const writer = WRITERS.get(name);
  if (writer === undefined) return;
  const args =
    name === 'chmod'
      ? call.args.filter((field) => !/^-[rwxXstugoa,=+-]+$/.test(field.text) || isRecursive(field.text))
      : call.args;
  const minusMode = args.length < call.args.length;
  const found = scan(args, writer.rules);
  judgeOptions(judge, name, found, call.scope);
  judge.part.findings.push({
    class: 'deny-in-read-only',
    op: 'write',
    reason: `${call.name} changes files.`,
    liftable: true,
  });
  const byReference = found.options.some((option) => option.name === '--reference');
  const operands = found.operands.slice(minusMode || byReference ? 0 : (writer.skip ?? 0));
  const recursive = found.options.some(
    (option) => option.name === '-r' || option.name === '-R' || option.name.startsWith('--rec'),
  );
  if (name === 'chown') needs(judge, 'write', 'It changes owners.');
  for (const field of operands) {
    if (recursive && writer.verb !== undefined) judgeCatastrophe(judge, field, call.scope, writer.verb);
  }
  if (writer.operands !== undefined) {
    for (const field of operands)
      if (field.text !== '-' || name === 'tee') judgePath(judge, field, writer.operands, call.scope);
    if (name === 'unzip' && !found.options.some((option) => /^-[dlvtzpc]$/.test(option.name))) {
      judgePath(judge, plainField('.'), 'write', call.scope);
    }
    return;
  }
  const folderGiven = found.options.some((option) => option.name === '-t' || option.name.startsWith('--target'));
  const makesFolders =
    name === 'install' && found.options.some((option) => option.name === '-d' || option.name === '--directory');
  judgeTransfer(judge, call, operands, makesFolders ? 'write' : (writer.sources ?? 'read'), folderGiven);
}

const isRecursive = (text: string): boolean => text.includes('R');

/** Sources, then a target that may be a folder which gets entries named as the sources. */
function judgeTransfer(
  judge: Judge,
  call: Call,
  operands: readonly Field[],
  access: Access,
  folderGiven: boolean,
): void {
  const target = folderGiven || operands.length < 2 ? undefined : operands.at(-1);
  const sources = target === undefined ? operands : operands.slice(0, -1);
  for (const field of sources)
    judgePath(judge, field, operands.length === 1 && !folderGiven ? 'write' : access, call.scope);
  if (target === undefined) return;
  judgePath(judge, target, 'write', call.scope);
  for (const field of sources) {
    const entry = entryIn(target, field);
    if (entry !== undefined) judgePath(judge, entry, 'write', call.scope);
  }
}
