// Makes facts of a scan: manifests read, components found, commands collected. Pure, and the same scan gives the same facts.

import { basename } from 'node:path';
import { cleanLine } from '../../shared/clean-text.ts';
import { ciCommands, isCiFile } from './ci.ts';
import { componentFolders, isMadeUp, isMainFile, mainFiles } from './components.ts';
import type { Command, Component, Facts, Manifest } from './facts.ts';
import type { Folder } from './folder.ts';
import { headComment, readmeHead, shorten } from './head-text.ts';
import { countLanguages } from './languages.ts';
import { isManifestName, readManifests } from './manifests.ts';
import { folderOf, type Scan } from './scan.ts';

const MAX_COMMANDS = 60;
const PLAIN_COMMAND = /^[\w ./:@=+,-]{1,120}$/;
const MAX_INNER = 6;
const DEPLOYMENT =
  /^(?:(?:.*\/)?Dockerfile(?:\.[\w-]+)?|(?:docker-)?compose\.ya?ml|Procfile|fly\.toml|vercel\.json|netlify\.toml|serverless\.ya?ml|(?:.*\/)?Chart\.yaml|(?:.*\/)?kustomization\.ya?ml|(?:.*\/)?main\.tf)$/;
const DOCUMENT =
  /^(?:AGENTS|CLAUDE|CONTRIBUTING|ARCHITECTURE|DEVELOPMENT|SECURITY|CHANGELOG)\.md$|^docs?\/[\w.-]+\.md$/i;

export function gatherFacts(scan: Scan, root: string): Facts {
  const { paths, texts } = scan;
  const manifests = manifestsOf(scan);
  const main = manifests.filter(({ file }) => !file.includes('/'));
  const readme = readmeHead(texts.get(paths.find((path) => /^readme(?:\.\w+)?$/i.test(path)) ?? '') ?? '');
  const named = main.find(({ name }) => name !== '');
  const ci = paths
    .filter((path) => isCiFile(path) && texts.has(path))
    .map((file) => ({ file, commands: ciCommands(file, texts.get(file) ?? '') }));
  return {
    name: nameOf(lastPart(named?.name ?? ''), readme.title) || cleanLine(basename(root), 80),
    description: main.find(({ description }) => description !== '')?.description ?? readme.about,
    files: paths.length,
    languages: countLanguages(paths),
    manifests,
    components: componentsOf(scan, manifests),
    commands: [...commandsOf(manifests), ...composeCommands(paths)],
    ci,
    deployment: paths.filter((path) => DEPLOYMENT.test(path) && !isMadeUp(path)).slice(0, 12),
    documents: paths.filter((path) => DOCUMENT.test(path)).slice(0, 12),
    texts,
    paths: new Set(paths),
    limits: scan.limits,
  };
}

function manifestsOf({ paths, texts }: Scan): readonly Manifest[] {
  const names = paths.filter((path) => texts.has(path) && isManifestName(basename(path)) && !isMadeUp(path));
  const folders = [...new Set(names.map(folderOf))].toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const open = new Map(folders.map((path) => [path, folderAt(path, paths, texts)]));
  return folders.flatMap((path) => {
    const ancestors = folders
      .filter((other) => other !== path && (other === '' || path.startsWith(`${other}/`)))
      .toSorted((a, b) => b.length - a.length)
      .flatMap((other) => open.get(other) ?? []);
    const folder = open.get(path);
    return folder ? readManifests(folder, ancestors).map(cleanManifest) : [];
  });
}

/** A manifest is a stranger's: its texts become single lines of visible characters, and a name that is more than a name makes no command. */
const cleanManifest = (manifest: Manifest): Manifest => ({
  ...manifest,
  name: cleanLine(manifest.name, 80),
  kind: cleanLine(manifest.kind, 200),
  description: shorten(cleanLine(manifest.description), 500),
  commands: manifest.commands
    .filter(({ command }) => PLAIN_COMMAND.test(command))
    .map((command) => ({ ...command, note: cleanLine(command.note, 300) })),
});

function folderAt(path: string, paths: readonly string[], texts: ReadonlyMap<string, string>): Folder {
  const prefix = path === '' ? '' : `${path}/`;
  return {
    path,
    below: new Set(paths.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length))),
    text: (name) => texts.get(prefix + name),
    at: (name) => prefix + name,
  };
}

function componentsOf({ paths, texts }: Scan, manifests: readonly Manifest[]): readonly Component[] {
  return componentFolders(
    paths,
    manifests.map(({ file }) => folderOf(file)),
  ).map((folder) => {
    const own = paths.filter((path) => path.startsWith(`${folder}/`));
    const manifest = manifests.find(({ file }) => folderOf(file) === folder) ?? null;
    const heads = mainFiles(paths, folder, 2)
      .filter((path) => isMainFile(path, folder))
      .map((path) => ({ about: headComment(texts.get(path) ?? ''), aboutFrom: path.slice(folder.length + 1) }));
    const readme = { about: readmeHead(texts.get(`${folder}/README.md`) ?? '').about, aboutFrom: '' };
    const described = { about: manifest?.description ?? '', aboutFrom: '' };
    const { about, aboutFrom } = [described, readme, ...heads].find((one) => one.about !== '') ?? described;
    return {
      folder,
      files: own.length,
      languages: countLanguages(own),
      manifest,
      about,
      aboutFrom,
      holds: holdsOf(own, folder),
    };
  });
}

function holdsOf(own: readonly string[], folder: string): readonly string[] {
  const names = own.map((path) => path.slice(folder.length + 1)).map((path) => path.replace(/\/.*$/s, '/'));
  return [...new Set(names)].toSorted((a, b) => Number(b.endsWith('/')) - Number(a.endsWith('/')) || (a < b ? -1 : 1));
}

/** Those of the root first; of a part of the project only what builds, runs, tests and checks it. */
function commandsOf(manifests: readonly Manifest[]): readonly Command[] {
  const seen = new Set<string>();
  const commands = manifests.flatMap(({ file, commands: own }) =>
    folderOf(file) === '' ? own : own.filter(({ purpose }) => purpose !== 'other').slice(0, MAX_INNER),
  );
  return commands
    .filter(({ folder, command }) => !seen.has(`${folder}|${command}`) && seen.add(`${folder}|${command}`))
    .slice(0, MAX_COMMANDS);
}

function composeCommands(paths: readonly string[]): readonly Command[] {
  const file = paths.find((path) => /^(?:docker-)?compose\.ya?ml$/.test(path));
  return file === undefined ? [] : [{ purpose: 'run', command: 'docker compose up', note: file, folder: '' }];
}

/** The README's way of writing the manifest's name, or its title where no manifest has a name; not a heading of something else. */
function nameOf(name: string, title: string): string {
  const letters = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const isIt = title.length < 40 && letters(title).includes(letters(name));
  return isIt && title !== '' ? title : name;
}

/** `@scope/name` and `host/owner/name` are called by their last part. */
const lastPart = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
