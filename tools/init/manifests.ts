// Every kind of manifest that Odin can read, and in which order: what describes a package comes before what only has targets.

import type { Manifest } from './facts.ts';
import type { Folder } from './folder.ts';
import { readCargo, readDotnet, readGoMod, readSwift } from './manifest-compiled.ts';
import { readGradle, readMaven } from './manifest-jvm.ts';
import { readCmake, readJustfile, readMakefile, readMeson, readTaskfile } from './manifest-make.ts';
import { readDenoJson, readPackageJson } from './manifest-node.ts';
import { readPython } from './manifest-python.ts';
import { readComposer, readGemfile, readMix, readPubspec } from './manifest-scripted.ts';

type Reader = (folder: Folder, ancestors: readonly Folder[]) => Manifest | null;

const READERS: readonly Reader[] = [
  ...[readPackageJson, readDenoJson, readPython, readCargo, readGoMod, readMaven, readGradle, readDotnet, readSwift],
  ...[readGemfile, readComposer, readMix, readPubspec, readCmake, readMeson, readMakefile, readJustfile, readTaskfile],
];

/** Names whose text a reader wants; lock files count by being there. */
const MANIFEST_NAME =
  /^(?:package\.json|deno\.jsonc?|pyproject\.toml|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|Pipfile|Cargo\.toml|go\.mod|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|[^/]+\.(?:slnx?|csproj|fsproj|vbproj)|Package\.swift|Gemfile|composer\.json|mix\.exs|pubspec\.yaml|CMakeLists\.txt|meson\.build|(?:GNU)?[Mm]akefile|\.?[Jj]ustfile|Taskfile\.ya?ml)$/;

export const isManifestName = (name: string): boolean => MANIFEST_NAME.test(name);

/** All manifests of a folder. `ancestors` are the folders above it, the nearest first. */
export const readManifests = (folder: Folder, ancestors: readonly Folder[]): readonly Manifest[] =>
  READERS.flatMap((read) => read(folder, ancestors) ?? []);
