// Programs by what they are (R7, R8, R11, R12), as data. A name in no table is unknown (R15).

const words = (...lines: readonly string[]): readonly string[] => lines.join(' ').split(' ');

export const SHELLS: ReadonlySet<string> = new Set(words('sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh'));

/** Take a program as text, from a file, an option or their input. */
export const INTERPRETERS: ReadonlySet<string> = new Set(
  words(
    'python pypy node nodejs deno bun tsx ts-node perl ruby irb php lua luajit tclsh wish expect Rscript R julia',
    'osascript groovy scala jshell elixir iex erl escript guile racket sbcl clisp emacs ghci runghc swift',
    'ipython m4 qjs crystal nim raku coffee babel-node esno zx nu xonsh gdb',
  ),
);

export const WRAPPERS: ReadonlySet<string> = new Set(
  words('env timeout gtimeout nice ionice stdbuf nohup setsid time command builtin xargs exec'),
);

/** Run the command in their arguments, in ways not judged in detail; their arguments are searched for what is forbidden. */
export const CARRIERS: ReadonlySet<string> = new Set(
  words(
    'watch strace ltrace flock chrt taskset parallel unbuffer chronic script busybox toybox fakeroot xvfb-run',
    'valgrind perf systemd-run setarch linux32 linux64 numactl prlimit entr cpulimit dbus-run-session proot',
    'firejail bwrap torsocks proxychains rlwrap screen tmux ssh-agent hyperfine catchsegv setpriv capsh runcon',
    'choom uclampset npx dotenv direnv nodemon',
  ),
);

/** Build tools, test runners and other programs that run code of the project. */
const BUILDERS = words(
  'make gmake cmake ninja meson bazel buck scons rake gradle gradlew mvn mvnw ant sbt lein just task tox nox',
  'pytest jest vitest mocha ava tap karma playwright cypress rspec phpunit tsc eslint prettier biome oxlint',
  'webpack rollup vite esbuild swc parcel turbo nx lerna gulp grunt next nuxt astro ng vue storybook rustc gcc',
  'g++ cc c++ clang clang++ ld as javac java kotlinc kotlin scalac ghc cabal stack dotnet msbuild xcodebuild',
  'swiftc zig ruff black mypy flake8 pylint isort pyright gofmt golangci-lint rustfmt clang-format shellcheck',
  'vim vi nvim nano ed ex less more man bat batcat patch pre-commit husky knip cloc tokei sqlite3 psql mysql',
  'mongosh mongo ffmpeg convert magick pandoc terraform ansible ansible-playbook kubectl helm vagrant gpg gpg2',
  'openssl ps top htop lsof free nvm fnm volta asdf mise rustup pyenv rbenv yq fzf ag ack delta difft hexyl',
  'exa eza sponge systemctl service journalctl locate',
);

/** Install and run packages: they reach the network for some subcommands and run code for the others. */
export const PACKAGE_MANAGERS: ReadonlySet<string> = new Set(
  words(
    'npm npx pnpm pnpx yarn bunx corepack pip pipx uv uvx poetry pdm conda mamba gem bundle bundler cargo go',
    'composer apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk brew port snap flatpak nix nix-env',
    'nix-shell choco scoop winget mix hex luarocks cpan cpanm opam easy_install',
  ),
);

export const CONTAINERS: ReadonlySet<string> = new Set(
  words('docker podman nerdctl docker-compose podman-compose buildah lxc crictl ctr'),
);

/** Open connections or ask name servers. */
export const NETWORK: ReadonlySet<string> = new Set(
  words(
    'curl wget wget2 aria2c axel http https httpie xh lynx links w3m elinks nc ncat netcat nc.openbsd',
    'nc.traditional socat telnet ftp lftp tftp sftp ssh scp rsync rclone dig nslookup host drill kdig whois ping',
    'ping6 fping hping3 traceroute traceroute6 tracepath mtr nmap masscan gh glab hub aws gcloud gsutil az doctl',
    'heroku vercel netlify fly flyctl wrangler ngrok cloudflared mosh autossh sshfs redis-cli valkey-cli mail',
    'mailx sendmail mutt swaks websocat grpcurl iperf iperf3 youtube-dl yt-dlp svn hg getent resolvectl arp',
    'arping avahi-resolve',
  ),
);

/** Turn hidden text into plain text (R11). */
export const DECODERS: ReadonlySet<string> = new Set(
  words(
    'base64 base32 basenc xxd openssl uudecode gzip gunzip zcat xz unxz xzcat bzip2 bunzip2 bzcat zstd unzstd',
    'zstdcat lz4 lz4cat brotli rev tr gpg gpg2',
  ),
);

/** R12: never, whatever the arguments. */
const ALWAYS_FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  'changes privileges': words('sudo sudoedit su doas pkexec runuser newgrp sg gosu su-exec run0'),
  'changes disks or file systems': words(
    'mkfs mke2fs fdisk sfdisk cfdisk gdisk sgdisk parted wipefs mkswap blkdiscard badblocks mount umount swapon',
    'swapoff losetup cryptsetup pvcreate pvremove vgcreate vgremove lvremove lvcreate diskutil newfs hdparm',
  ),
  'stops or restarts the machine': words('shutdown reboot halt poweroff init telinit kexec'),
  'changes the kernel': words('insmod rmmod modprobe depmod kmod sysctl kextload'),
  'leaves the file system or its name spaces': words('chroot nsenter unshare pivot_root switch_root'),
  'changes the firewall': words(
    'iptables ip6tables iptables-restore ip6tables-restore nft ufw firewall-cmd ipset ebtables arptables pfctl',
  ),
  'manages users': words(
    'useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup passwd chpasswd',
    'gpasswd chsh chfn vipw vigr visudo newusers chage dscl',
  ),
  'schedules commands for later': words('crontab at batch atrm atq anacron'),
  'stops processes by name': words('pkill killall killall5 skill xkill'),
};

const FORBIDDEN_WHY: ReadonlyMap<string, string> = new Map(
  Object.entries(ALWAYS_FORBIDDEN).flatMap(([why, names]) => names.map((name) => [name, why] as const)),
);

/** Why a program is forbidden always, or undefined. */
export function whyForbidden(name: string): string | undefined {
  return (
    FORBIDDEN_WHY.get(name) ??
    (name.startsWith('mkfs.') || name.startsWith('newfs_') ? 'changes disks or file systems' : undefined)
  );
}

/** A name without its version: python3.12 → python, node22 → node. */
export function plainName(name: string): string {
  const match =
    /^(python|pypy|pip|node|perl|ruby|php|lua|gcc|g\+\+|clang|clang\+\+|java|tclsh|bash|guile|ipython)-?\d[\d.]*$/.exec(
      name,
    );
  return match?.[1] ?? name;
}

/** A program that can run any other: as an AllowedCommands entry it would allow everything (R14). */
export function isBareRunner(name: string): boolean {
  const plain = plainName(name);
  return (
    SHELLS.has(plain) ||
    INTERPRETERS.has(plain) ||
    WRAPPERS.has(plain) ||
    CARRIERS.has(plain) ||
    ALWAYS_RUNNERS.has(plain)
  );
}

const ALWAYS_RUNNERS = new Set(words('eval source . find awk gawk mawk nawk pipx uvx bunx pnpx'));

const KNOWN: ReadonlySet<string> = new Set([
  ...[SHELLS, INTERPRETERS, WRAPPERS, CARRIERS, PACKAGE_MANAGERS, CONTAINERS, NETWORK, DECODERS].flatMap((set) => [
    ...set,
  ]),
  ...BUILDERS,
]);

export const isKnownTool = (name: string): boolean => KNOWN.has(plainName(name));
