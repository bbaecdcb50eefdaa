// R16's read-only programs as option grammars: everything not listed needs approval. What their operands are is data too;
// the programs with a language of their own (find, sed, awk, jq) have files of their own.

import { type Grammar, grammar } from '../options.ts';

/** `pattern`: the first operand is text unless one of `patternBy` gave it. `in-out`: the second is written. */
export interface Reader {
  readonly rules: Grammar;
  readonly operands: 'read' | 'look' | 'text' | 'pattern' | 'in-out';
  readonly patternBy?: readonly string[];
  /** Operands beyond this many are numbers or text. */
  readonly files?: number;
}

const reader = (operands: Reader['operands'], ...lines: readonly string[]): Reader => ({
  operands,
  rules: grammar(...lines),
});

const DIGITS = '-0123456789';

const grep: Reader = {
  operands: 'pattern',
  patternBy: ['-e', '-f', '--regexp', '--file'],
  rules: grammar(
    `${DIGITS} -EFGPivwxyzcLlqsbHhnTaIrRuUoZpV -A# -B# -C# -D# -d# -e# -m# -f<`,
    '--regexp# --file< --max-count# --after-context# --before-context# --context# --binary-files# --devices# --directories#',
    '--include# --exclude# --exclude-dir# --exclude-from< --label# --color? --colour? --group-separator#',
    '--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match',
    '--word-regexp --line-regexp --null-data --no-messages --byte-offset --line-number --line-buffered --with-filename',
    '--no-filename --only-matching --quiet --silent --text --recursive --dereference-recursive --files-without-match',
    '--files-with-matches --count --initial-tab --null --no-group-separator --binary --unix-byte-offsets',
  ),
};

const rg: Reader = {
  operands: 'pattern',
  patternBy: ['-e', '-f', '--regexp', '--file', '--files', '--type-list'],
  rules: grammar(
    '-abcFHhiIlLnNopPqsSuUvVwx0. -A# -B# -C# -d# -e# -E# -f< -g# -j# -m# -M# -r# -t# -T# -z!',
    '--pre! --pre-glob# --hostname-bin! --search-zip! --no-search-zip --no-pre --no-hostname-bin',
    '--after-context# --before-context# --context# --max-depth# --maxdepth# --regexp# --encoding# --file< --glob# --iglob#',
    '--threads# --max-count# --max-columns# --max-filesize# --replace# --type# --type-not# --type-add# --type-clear#',
    '--color# --colors# --context-separator# --dfa-size-limit# --regex-size-limit# --engine# --field-context-separator#',
    '--field-match-separator# --generate# --hyperlink-format# --ignore-file< --path-separator# --sort# --sortr# --auto-hybrid-regex',
    '--binary --block-buffered --byte-offset --case-sensitive --column --count --count-matches --crlf --debug --files',
    '--files-with-matches --files-without-match --fixed-strings --follow --glob-case-insensitive --heading --hidden',
    '--ignore-case --ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered --line-number',
    '--line-regexp --max-columns-preview --mmap --multiline --multiline-dotall --no-auto-hybrid-regex --no-binary',
    '--no-block-buffered --no-byte-offset --no-column --no-config --no-context-separator --no-crlf --no-encoding --no-filename',
    '--no-fixed-strings --no-follow --no-glob-case-insensitive --no-heading --no-hidden --no-ignore --no-ignore-dot',
    '--no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs',
    '--no-invert-match --no-json --no-line-buffered --no-line-number --no-max-columns-preview --no-messages --no-mmap',
    '--no-multiline --no-multiline-dotall --no-one-file-system --no-pcre2 --no-require-git --no-sort-files --no-stats',
    '--no-text --no-trim --no-unicode --null --null-data --one-file-system --only-matching --passthru --passthrough --pcre2',
    '--pcre2-version --pretty --quiet --require-git --smart-case --sort-files --stats --stop-on-nonmatch --text --trace',
    '--trim --type-list --unicode --unrestricted --vimgrep --with-filename --word-regexp --ignore --ignore-vcs --messages',
  ),
};

const fd: Reader = {
  operands: 'pattern',
  rules: grammar(
    '-HIuasigFlLp01hVq -d# -t# -e# -E# -c# -j# -S# -o# -C~ -x! -X! --exec! --exec-batch! --list-details',
    '--hidden --no-ignore --no-ignore-vcs --no-require-git --no-ignore-parent --no-global-ignore-file --unrestricted',
    '--case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --relative-path --follow --full-path',
    '--print0 --max-depth# --min-depth# --exact-depth# --exclude# --prune --type# --extension# --size# --changed-within#',
    '--changed-before# --changed-after# --newer# --older# --change-newer-than# --change-older-than# --owner# --format#',
    '--max-results# --quiet --show-errors --base-directory~ --path-separator# --search-path~ --strip-cwd-prefix? --color#',
    '--threads# --max-buffer-time# --one-file-system --mount --hyperlink? --ignore-file< --ignore --no-hidden --and# --batch-size#',
  ),
};

const LS = reader(
  'look',
  '-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1e@%OP -I# -T# -w#',
  '--all --almost-all --author --escape --block-size# --ignore-backups --color? --directory --dired --classify? --file-type',
  '--format# --full-time --group-directories-first --no-group --human-readable --si --dereference-command-line --hide#',
  '--dereference-command-line-symlink-to-dir --hyperlink? --indicator-style# --inode --ignore# --kibibytes --dereference',
  '--numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name --quoting-style# --reverse --recursive',
  '--size --sort# --time# --time-style# --tabsize# --width# --context --zero',
);

const CHECKSUM = reader(
  'read',
  '-bctwzUhqv0 -a# -l# --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --length# --algorithm#',
  '--untagged --raw --base64 --debug --sysv -rsp',
);

const DIFF = reader(
  'read',
  `${DIGITS} -abBcdEeHilNnpPqrstTuvwyZ -C# -D# -F# -I# -L# -S# -U# -W# -x# -X<`,
  '--normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width# --left-column',
  '--suppress-common-lines --show-c-function --show-function-line# --label# --expand-tabs --initial-tab --tabsize#',
  '--suppress-blank-empty --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case',
  '--no-ignore-file-name-case --exclude# --exclude-from< --starting-file# --from-file< --to-file< --ignore-case',
  '--ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines',
  '--ignore-matching-lines# --text --strip-trailing-cr --ifdef# --line-format# --minimal --horizon-lines# --speed-large-files',
  '--color? --palette# --old-group-format# --new-group-format# --unchanged-group-format# --changed-group-format#',
  '--old-line-format# --new-line-format# --unchanged-line-format# --GTYPE-group-format# --LTYPE-line-format#',
);

const TEXT_ONLY = (lines: string): Reader => reader('text', lines);

export const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [
    'cat',
    reader(
      'read',
      '-AbeEnstTuvl --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting',
    ),
  ],
  ['tac', reader('read', '-br -s# --before --regex --separator#')],
  [
    'nl',
    reader(
      'read',
      '-p -b# -d# -f# -h# -i# -l# -n# -s# -v# -w# --body-numbering# --section-delimiter# --footer-numbering# --header-numbering#',
      '--line-increment# --join-blank-lines# --number-format# --no-renumber --number-separator# --starting-line-number# --number-width#',
    ),
  ],
  ['head', reader('read', `${DIGITS} -qvz -c# -n# --bytes# --lines# --quiet --silent --verbose --zero-terminated`)],
  [
    'tail',
    reader(
      'read',
      `${DIGITS} -fFqvzr -c# -n# -s# -b# --bytes# --follow? --lines# --max-unchanged-stats# --pid# --quiet --silent --retry`,
      '--sleep-interval# --verbose --zero-terminated',
    ),
  ],
  ['wc', reader('read', '-clLmw --bytes --chars --lines --words --max-line-length --files0-from@ --total#')],
  ['ls', LS],
  ['stat', reader('look', '-LtfFlnqrsx -c# --dereference --file-system --cached# --format# --printf# --terse')],
  [
    'file',
    reader(
      'look',
      '-bcdDEhiIkLlNnprsSvz0 -Z -C! -e# -F# -f@ -m< -P# --apple --brief --checking-printout --compile! --debug --dereference --exclude#',
      '--exclude-quiet# --extension --files-from@ --keep-going --list --magic-file< --mime --mime-encoding --mime-type --no-buffer',
      '--no-dereference --no-pad --parameter# --preserve-date --print0 --raw --separator# --special-files --uncompress',
      '--uncompress-noreport --no-sandbox',
    ),
  ],
  [
    'du',
    reader(
      'look',
      '-0abcDhHkLlmPSsxAgrn -B# -d# -t# -X< -I# --null --all --apparent-size --block-size# --bytes --total --dereference-args',
      '--max-depth# --files0-from@ --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs --si',
      '--summarize --threshold# --time? --time-style# --exclude-from< --exclude# --one-file-system',
    ),
  ],
  [
    'df',
    reader(
      'look',
      '-ahHiklmPTvgnY -B# -t# -x# --all --block-size# --human-readable --si --inodes --local --no-sync --output? --portability --sync',
      '--total --type# --print-type --exclude-type#',
    ),
  ],
  [
    'tree',
    reader(
      'look',
      '-adfilNqpsugDFvtcrUnACSXJQhx -L# -P# -I# -o> -H# -T# -R! --gitignore --gitfile< --infofile< --info --matchdirs --metafirst --prune',
      '--noreport --charset# --filelimit# --filesfirst --dirsfirst --sort# --du --si --timefmt# --inodes --device --nolinks --hintro<',
      '--houtro< --fromfile --fromtabfile --fflinks --ignore-case --hyperlink --scheme# --authority# --opt-toggle',
    ),
  ],
  [
    'readlink',
    reader(
      'look',
      '-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero',
    ),
  ],
  [
    'realpath',
    reader(
      'look',
      '-eELmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to~ --relative-base~ --strip',
      '--no-symlinks --zero',
    ),
  ],
  ...['md5sum', 'sha1sum', 'sha224sum', 'sha256sum', 'sha384sum', 'sha512sum', 'b2sum', 'cksum', 'sum', 'shasum'].map(
    (name) => [name, CHECKSUM] as const,
  ),
  [
    'cmp',
    {
      ...reader('read', '-blszv -i# -n# --print-bytes --ignore-initial# --verbose --bytes# --quiet --silent'),
      files: 2,
    },
  ],
  ['diff', DIFF],
  ['comm', reader('read', '-123iz --check-order --nocheck-order --output-delimiter# --total --zero-terminated')],
  [
    'cut',
    reader(
      'read',
      '-nsz -b# -c# -d# -f# --bytes# --characters# --delimiter# --fields# --complement --only-delimited --output-delimiter# --zero-terminated',
    ),
  ],
  ['paste', reader('read', '-sz -d# --delimiters# --serial --zero-terminated')],
  ['tr', TEXT_ONLY('-cCdstu --complement --delete --squeeze-repeats --truncate-set1')],
  [
    'uniq',
    reader(
      'in-out',
      '-cdDiuz -f# -s# -w# --count --repeated --all-repeated? --skip-fields# --group? --ignore-case --skip-chars# --unique',
      '--zero-terminated --check-chars#',
    ),
  ],
  [
    'sort',
    reader(
      'read',
      '-bcCdfghiMmnrRsuVz -k# -o> -S# -t# -T> --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort',
      '--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source< --reverse --sort#',
      '--version-sort --batch-size# --check? --compress-program! --debug --files0-from@ --key# --merge --output> --stable',
      '--buffer-size# --field-separator# --temporary-directory> --parallel# --unique --zero-terminated',
    ),
  ],
  [
    'column',
    reader(
      'read',
      '-tenJLdmxhV -c# -o# -s# -N# -R# -T# -W# -E# -H# -O# -i# -p# -r# -l# -C# --table --separator# --output-separator# --columns#',
      '--output-width# --fillrows --json --table-columns# --table-column# --table-columns-limit# --table-name# --table-order#',
      '--table-right# --table-truncate# --table-wrap# --table-hide# --table-noheadings --table-noextreme# --table-maxout',
      '--table-empty-lines --table-header-repeat --keep-empty-lines --tree# --tree-id# --tree-parent# --color?',
    ),
  ],
  ['fold', reader('read', '-bs -w# --bytes --spaces --width#')],
  [
    'fmt',
    reader(
      'read',
      `${DIGITS} -cstu -g# -p# -w# --crown-margin --prefix# --split-only --tagged-paragraph --uniform-spacing --width# --goal#`,
    ),
  ],
  ['rev', reader('read', '-Vh0 --zero')],
  [
    'strings',
    reader(
      'read',
      `${DIGITS} -afwdvh -e# -n# -o -s# -t# -T# -U# --all --data --print-file-name --bytes# --radix# --include-all-whitespace --encoding#`,
      '--unicode# --target# --output-separator#',
    ),
  ],
  [
    'od',
    reader(
      'read',
      '-abcdfFhHilLoOsvxX -A# -j# -N# -S# -t# -w? --address-radix# --endian# --skip-bytes# --read-bytes# --strings? --format# --output-duplicates --width? --traditional',
    ),
  ],
  [
    'hexdump',
    reader(
      'read',
      '-bcCdovxXhV -e# -f< -L? -n# -s# --one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal --two-bytes-hex --format# --format-file< --color? --length# --skip# --no-squeezing',
    ),
  ],
  ['base64', reader('read', '-dDi -w# -b# -o! --decode --ignore-garbage --wrap# --break# --output!')],
  ['grep', grep],
  ['egrep', grep],
  ['fgrep', grep],
  ['rg', rg],
  ['fd', fd],
  ['fdfind', fd],
  // Text builtins and small programs that touch no file.
  ['basename', TEXT_ONLY('-az -s# --multiple --suffix# --zero')],
  ['dirname', TEXT_ONLY('-z --zero')],
  ['seq', TEXT_ONLY(`${DIGITS} -w -f# -s# --format# --separator# --equal-width`)],
  ['sleep', TEXT_ONLY('-')],
  ['whoami', TEXT_ONLY('-')],
  ['logname', TEXT_ONLY('-')],
  ['id', TEXT_ONLY('-aAFgGnpPruzZ --context --group --groups --name --real --user --zero')],
  ['groups', TEXT_ONLY('-')],
  [
    'uname',
    TEXT_ONLY(
      '-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system',
    ),
  ],
  ['arch', TEXT_ONLY('-')],
  ['nproc', TEXT_ONLY('-  --all --ignore#')],
  ['tty', TEXT_ONLY('-s --silent --quiet')],
  ['uptime', TEXT_ONLY('-pshV --pretty --since')],
  ['which', TEXT_ONLY('-as --all')],
  ['type', TEXT_ONLY('-afptP')],
  ['pwd', TEXT_ONLY('-LP --logical --physical')],
  [
    'date',
    reader(
      'text',
      '-uRjn -d# -I? -r~ -f< -s! -v# --date# --debug --file< --iso-8601? --resolution --reference~ --rfc-2822 --rfc-email --rfc-3339# --set! --utc --universal',
    ),
  ],
]);
