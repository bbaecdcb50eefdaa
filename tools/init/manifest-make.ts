// Makefile, justfile, Taskfile, CMake, Meson: targets with names, whatever the language.

import { purposeOf } from './command-purpose.ts';
import type { Command, Manifest } from './facts.ts';
import { commandsIn, existing, type Folder, matching } from './folder.ts';

const MAX_TARGETS = 25;

export function readMakefile(folder: Folder): Manifest | null {
  const file = ['Makefile', 'makefile', 'GNUmakefile'].find((name) => folder.text(name) !== undefined);
  if (file === undefined) return null;
  const to = commandsIn(folder);
  const found = new Map<string, Command>();
  for (const line of (folder.text(file) ?? '').split('\n')) {
    const target = /^([A-Za-z][\w-]*)\s*:(?![:=])[^#]*(?:##?\s*(.*))?$/.exec(line);
    const name = target?.[1];
    if (name !== undefined && !found.has(name)) found.set(name, to(purposeOf(name), `make ${name}`, target?.[2] ?? ''));
  }
  return targets(folder, file, 'Make', [...found.values()]);
}

export function readJustfile(folder: Folder): Manifest | null {
  const file = ['justfile', 'Justfile', '.justfile'].find((name) => folder.text(name) !== undefined);
  if (file === undefined) return null;
  const to = commandsIn(folder);
  const commands: Command[] = [];
  let note = '';
  for (const line of (folder.text(file) ?? '').split('\n')) {
    const name = /^@?([A-Za-z][\w-]*)(?:\s+[^:]*)?:(?!=)/.exec(line)?.[1];
    if (name !== undefined && name !== 'alias' && name !== 'set')
      commands.push(to(purposeOf(name), `just ${name}`, note));
    note = /^#\s*(.*)/.exec(line)?.[1] ?? '';
  }
  return targets(folder, file, 'just', commands);
}

export function readTaskfile(folder: Folder): Manifest | null {
  const file = ['Taskfile.yml', 'Taskfile.yaml'].find((name) => folder.text(name) !== undefined);
  if (file === undefined) return null;
  const to = commandsIn(folder);
  const lines = (folder.text(file) ?? '').split('\n');
  const begin = lines.findIndex((line) => line.startsWith('tasks:')) + 1;
  const end = lines.findIndex((line, at) => at >= begin && /^\S/.test(line));
  const inside = begin === 0 ? [] : lines.slice(begin, end === -1 ? undefined : end);
  const names = inside.flatMap((line) => /^ {2}([A-Za-z][\w:-]*):/.exec(line)?.[1] ?? []);
  return targets(
    folder,
    file,
    'Task',
    names.map((name) => to(purposeOf(name), `task ${name}`)),
  );
}

export function readCmake(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const text = folder.text('CMakeLists.txt');
  if (text === undefined || ancestors.some((one) => one.below.has('CMakeLists.txt'))) return null;
  const to = commandsIn(folder);
  const presets = folder.below.has('CMakePresets.json');
  return {
    file: folder.at('CMakeLists.txt'),
    kind: 'CMake',
    name: /project\s*\(\s*"?([\w.-]+)/i.exec(text)?.[1] ?? '',
    description: /DESCRIPTION\s+"([^"]*)"/.exec(text)?.[1] ?? '',
    uses: presets ? ['CMake presets'] : [],
    entries: existing(folder, ['src/main.cpp', 'src/main.cc', 'src/main.c', 'main.cpp', 'main.c']),
    commands: [
      to('build', 'cmake -B build'),
      to('build', 'cmake --build build'),
      ...(/enable_testing|include\s*\(\s*CTest/i.test(text) ? [to('test', 'ctest --test-dir build')] : []),
    ],
  };
}

export function readMeson(folder: Folder, ancestors: readonly Folder[]): Manifest | null {
  const text = folder.text('meson.build');
  if (text === undefined || ancestors.some((one) => one.below.has('meson.build'))) return null;
  const to = commandsIn(folder);
  return {
    file: folder.at('meson.build'),
    kind: 'Meson',
    name: /project\s*\(\s*'([^']+)'/.exec(text)?.[1] ?? '',
    description: '',
    uses: [],
    entries: matching(folder, /^(?:src\/)?main\.\w+$/).map(folder.at),
    commands: [
      to('build', 'meson setup build'),
      to('build', 'meson compile -C build'),
      ...(/^[ \t]*test[ \t]*\(/m.test(text) ? [to('test', 'meson test -C build')] : []),
    ],
  };
}

const targets = (folder: Folder, file: string, kind: string, commands: readonly Command[]): Manifest => ({
  file: folder.at(file),
  kind,
  name: '',
  description: '',
  uses: [],
  entries: [],
  commands: commands.slice(0, MAX_TARGETS),
});
