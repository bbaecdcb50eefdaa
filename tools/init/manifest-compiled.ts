// Cargo.toml, go.mod, .NET projects, Package.swift: what is built by a tool that belongs to its language.

import type { Command, Manifest } from './facts.ts';
import { commandsIn, existing, type Folder, matching, usesOf } from './folder.ts';
import { readToml, tomlList, tomlString } from './toml.ts';

const RUST_USES = {
  tokio: 'Tokio',
  axum: 'axum',
  'actix-web': 'Actix',
  rocket: 'Rocket',
  warp: 'warp',
  serde: 'Serde',
  clap: 'clap',
  sqlx: 'SQLx',
  diesel: 'Diesel',
  bevy: 'Bevy',
  tauri: 'Tauri',
  tonic: 'tonic (gRPC)',
  'wasm-bindgen': 'WebAssembly',
} as const;

export function readCargo(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const text = folder.text('Cargo.toml');
  if (text === undefined) return null;
  const toml = readToml(text);
  const to = commandsIn(folder);
  const isWorkspace = toml.has('workspace');
  const name = tomlString(toml, 'package', 'name');
  const mains = matching(folder, isWorkspace ? /(?:^|\/)src\/(?:main|bin\/\w+)\.rs$/ : /^src\/(?:main|bin\/\w+)\.rs$/);
  const bins = [...toml]
    .filter(([section]) => /^bin(?:#\d+)?$/.test(section))
    .map(([section]) => tomlString(toml, section, 'path'));
  // A member is built from its workspace's root.
  const isMember = ancestors.some((one) => one.text('Cargo.toml')?.includes('[workspace]'));
  const commands: Command[] = isMember
    ? [to('build', 'cargo build'), to('test', 'cargo test')]
    : [to('build', 'cargo build'), to('test', isWorkspace ? 'cargo test --workspace' : 'cargo test')];
  if (folder.below.has('src/main.rs') || bins.length > 0) commands.push(to('run', 'cargo run'));
  if (['clippy.toml', '.clippy.toml'].some((file) => folder.below.has(file)))
    commands.push(to('check', 'cargo clippy'));
  if (['rustfmt.toml', '.rustfmt.toml'].some((file) => folder.below.has(file)))
    commands.push(to('check', 'cargo fmt --check'));
  const members = tomlList(toml, 'workspace', 'members');
  const dependencies = [...toml].flatMap(([section, keys]) => {
    if (/(?:^|\.)(?:dev-|build-)?dependencies$/.test(section))
      return [...keys.keys()].map((key) => key.split('.')[0] ?? '');
    return [/(?:^|\.)dependencies\.([\w-]+)$/.exec(section)?.[1] ?? ''];
  });
  return {
    file: folder.at('Cargo.toml'),
    kind: isWorkspace
      ? `Rust (Cargo workspace${members.length > 0 ? `: ${members.slice(0, 12).join(', ')}` : ''})`
      : 'Rust (Cargo)',
    name,
    description: tomlString(toml, 'package', 'description'),
    uses: usesOf(dependencies, RUST_USES),
    entries: [
      ...new Set([
        ...mains,
        ...bins.filter((path) => folder.below.has(path)),
        ...(folder.below.has('src/lib.rs') ? ['src/lib.rs'] : []),
      ]),
    ].map(folder.at),
    commands,
  };
}

const GO_USES = {
  'github.com/gin-gonic/gin': 'Gin',
  'github.com/labstack/echo/v4': 'Echo',
  'github.com/gofiber/fiber/v2': 'Fiber',
  'github.com/go-chi/chi/v5': 'chi',
  'github.com/spf13/cobra': 'Cobra',
  'google.golang.org/grpc': 'gRPC',
  'gorm.io/gorm': 'GORM',
  'k8s.io/client-go': 'Kubernetes',
  'github.com/stretchr/testify': 'testify',
} as const;

export function readGoMod(folder: Folder): Manifest | null {
  const text = folder.text('go.mod');
  if (text === undefined) return null;
  const to = commandsIn(folder);
  const module = /^module\s+(\S+)/m.exec(text)?.[1] ?? '';
  const version = /^go\s+([\d.]+)/m.exec(text)?.[1];
  const mains = matching(folder, /^(?:cmd\/[\w-]+\/)?main\.go$/);
  const runs = mains.map((main) =>
    to('run', main === 'main.go' ? 'go run .' : `go run ./${main.slice(0, -'/main.go'.length)}`),
  );
  const linted = matching(folder, /^\.golangci\.(?:ya?ml|toml|json)$/).length > 0;
  return {
    file: folder.at('go.mod'),
    kind: version === undefined ? 'Go' : `Go ${version}`,
    name: module,
    description: '',
    uses: usesOf(
      [...text.matchAll(/^[ \t]*(?:require[ \t]+)?([\w./-]+)[ \t]+v[\d.]/gm)].map(([, name = '']) => name),
      GO_USES,
    ),
    entries: mains.map(folder.at),
    commands: [
      to('build', 'go build ./...'),
      ...runs.slice(0, 8),
      to('test', 'go test ./...'),
      ...(linted ? [to('check', 'golangci-lint run')] : []),
    ],
  };
}

export function readDotnet(folder: Folder): Manifest | null {
  const [file] = [...matching(folder, /^[^/]+\.slnx?$/), ...matching(folder, /^[^/]+\.(?:cs|fs|vb)proj$/)];
  if (file === undefined) return null;
  const text = folder.text(file) ?? '';
  const to = commandsIn(folder);
  const isSolution = /\.slnx?$/.test(file);
  const runs = text.includes('<OutputType>Exe') || text.includes('Microsoft.NET.Sdk.Web');
  const tests = isSolution || /Microsoft\.NET\.Test\.Sdk|xunit|NUnit|MSTest/.test(text);
  return {
    file: folder.at(file),
    kind: `.NET (${isSolution ? 'solution' : 'project'})`,
    name: file.replace(/\.\w+$/, ''),
    description: /<Description>([^<]*)/.exec(text)?.[1] ?? '',
    uses: text.includes('Microsoft.NET.Sdk.Web') ? ['ASP.NET Core'] : [],
    entries: existing(folder, ['Program.cs', 'Program.fs']),
    commands: [
      to('build', 'dotnet build'),
      ...(tests ? [to('test', 'dotnet test')] : []),
      ...(runs ? [to('run', 'dotnet run')] : []),
    ],
  };
}

export function readSwift(folder: Folder): Manifest | null {
  const text = folder.text('Package.swift');
  if (text === undefined) return null;
  const to = commandsIn(folder);
  return {
    file: folder.at('Package.swift'),
    kind: 'Swift (SwiftPM)',
    name: /name:\s*"([^"]+)"/.exec(text)?.[1] ?? '',
    description: '',
    uses: [],
    entries: matching(folder, /^Sources\/[\w-]+\/main\.swift$/).map(folder.at),
    commands: [
      to('build', 'swift build'),
      ...(text.includes('.testTarget') ? [to('test', 'swift test')] : []),
      ...(text.includes('.executableTarget') ? [to('run', 'swift run')] : []),
    ],
  };
}
