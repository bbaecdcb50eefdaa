// dd, tar and mktemp (R10): writers whose command lines follow no common grammar.

import { type Call, type Judge, needs } from '../judge.ts';
import { grammar, scan } from '../options.ts';
import { judgePath, outside } from '../paths.ts';
import { type Field, isKnown, plainField, sliceField } from '../words.ts';
import { judgeOptions } from './read.ts';

/** dd: operands are `key=value`. */
export function judgeDd(judge: Judge, call: Call): void {
  judge.part.findings.push({ class: 'deny-in-read-only', op: 'write', reason: 'dd changes files.', liftable: true });
  for (const field of call.args) {
    if (!isKnown(field) && !/^(?:if|of|bs|ibs|obs|cbs|count|skip|seek|conv|status|iflag|oflag)=/.test(field.text)) {
      outside(judge, field.raw, 'write', 'its value is not known in advance');
    } else if (field.text.startsWith('if=')) judgePath(judge, sliceField(field, 3), 'read', call.scope);
    else if (field.text.startsWith('of=')) judgePath(judge, sliceField(field, 3), 'write', call.scope);
    else if (field.splits) judgePath(judge, field, 'write', call.scope);
  }
}

const TAR_RULES = grammar(
  '-cxturAdzjJZvpkmOhSawWGlBUnio -f> -C> -T@ -X< -b# -g> -K# -L# -N# -V# -H# -P! -I! -F! -s! --create --extract --get --list --update --append',
  '--concatenate --catenate --diff --compare --delete! --gzip --gunzip --ungzip --bzip2 --xz --zstd --lzma --lzip --lzop --compress --uncompress',
  '--auto-compress --no-auto-compress --file> --directory> --files-from@ --exclude-from< --exclude# --exclude-vcs --exclude-vcs-ignores --exclude-caches',
  '--exclude-backups --exclude-tag# --verbose --preserve-permissions --same-permissions --no-same-owner --same-owner --no-same-permissions --keep-old-files',
  '--overwrite --touch --to-stdout --dereference --sparse --owner# --group# --mode# --mtime# --sort# --format# --numeric-owner --totals? --wildcards',
  '--no-wildcards --strip-components# --one-top-level? --one-file-system --anchored --no-anchored --no-recursion --recursion --null --verbatim-files-from --posix --keep-newer-files --skip-old-files',
  '--transform! --xform! --to-command! --use-compress-program! --checkpoint? --checkpoint-action! --rsh-command! --rmt-command! --info-script!',
  '--new-volume-script! --absolute-names! --remove-files! --unlink-first --recursive-unlink! --listed-incremental> --newer# --label# --record-size# --blocking-factor# --warning# --show-transformed-names --quoting-style# --xattrs --acls --selinux --hard-dereference --ignore-failed-read --ignore-zeros --occurrence? --index-file> --starting-file# --tape-length# --force-local --full-time --utc --block-number --delay-directory-restore --no-delay-directory-restore --overwrite-dir --no-overwrite-dir --keep-directory-symlink --atime-preserve? --pax-option# --suffix# --backup? --after-date# --newer-mtime# --volno-file> --multi-volume --seek --no-seek --check-device --no-check-device --incremental --level# --add-file<',
);

/** tar (R10): archives and what they hold are written, members are read. */
export function judgeTar(judge: Judge, call: Call): void {
  const first = call.args[0];
  const old = first !== undefined && isKnown(first) && /^[A-Za-z]+$/.test(first.text);
  const args = old ? oldStyle(first, call.args.slice(1)) : call.args;
  const found = scan(args, TAR_RULES);
  judgeOptions(judge, 'tar', found, call.scope);
  judge.part.findings.push({ class: 'deny-in-read-only', op: 'write', reason: 'tar changes files.', liftable: true });
  const archive = found.options.find((option) => option.name === '-f' || option.name === '--file')?.value;
  if (archive !== undefined && /^[^/]+:/.test(archive.text)) forbidRemote(judge, archive);
  if (found.options.some((option) => option.name === '-P' || option.name.startsWith('--abs'))) {
    outside(judge, 'absolute names in the archive', 'write', 'they lead anywhere');
  }
  const extracts = found.options.some((option) => option.name === '-x' || /^--(?:ext|get)/.test(option.name));
  const folder = found.options.findLast((option) => option.name === '-C' || option.name.startsWith('--dir'))?.value;
  if (extracts) return judgePath(judge, folder ?? plainField('.'), 'write', call.scope);
  for (const field of found.operands) {
    const base = folder === undefined || field.text.startsWith('/') ? '' : `${folder.text}/`;
    judgePath(
      judge,
      { ...field, text: base + field.text, globAt: field.globAt < 0 ? -1 : field.globAt + base.length },
      'read',
      call.scope,
    );
  }
}

const forbidRemote = (judge: Judge, archive: Field): void =>
  needs(judge, 'network', `${archive.raw} names another host.`);

/** `tar xzf a.tgz` as `tar -x -z -f a.tgz`: letters that take a value take the following words in turn. */
function oldStyle(letters: Field, rest: readonly Field[]): readonly Field[] {
  const args: Field[] = [];
  const words = [...rest];
  for (const letter of letters.text) {
    args.push(plainField(`-${letter}`));
    const kind = TAR_RULES.short.get(letter);
    const value = kind !== undefined && kind !== 'none' && kind !== 'danger' ? words.shift() : undefined;
    if (value !== undefined) args.push(value);
  }
  return [...args, ...words];
}

/** mktemp makes its file in the folder for temporary files unless told otherwise. */
export function judgeMktemp(judge: Judge, call: Call): void {
  const found = scan(call.args, grammar('-dquV -t -p> --directory --quiet --dry-run --suffix# --tmpdir?'));
  judgeOptions(judge, 'mktemp', found, call.scope);
  const folder = found.options.find((option) => option.name === '-p');
  const template = found.operands[0];
  const here =
    template !== undefined && !found.options.some((option) => option.name === '-t' || option.name === '--tmpdir');
  if (folder === undefined) judgePath(judge, here ? template : plainField('/tmp/tmp.XXXXXX'), 'write', call.scope);
}
