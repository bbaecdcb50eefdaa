// What Odin knows of a project for certain, before any model has said a word about it (SPEC O22): types alone. manifests.ts reads
// manifests, gather.ts puts everything together, template.ts and prose.ts make text of it.

import type { LanguageCount } from './languages.ts';

export const PURPOSES = ['install', 'build', 'run', 'test', 'check', 'other'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** A command that a file of the project defines or calls for. Only such commands get into ODIN.md. */
export interface Command {
  readonly purpose: Purpose;
  readonly command: string;
  /** What it does, in the manifest's own words; '' when it has none. */
  readonly note: string;
  /** Where it is run, from the root; '' is the root itself. */
  readonly folder: string;
}

/** One manifest, read. */
export interface Manifest {
  readonly file: string;
  /** `Node.js (pnpm)`, `Rust`. */
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  /** Frameworks and tools of note. */
  readonly uses: readonly string[];
  /** Files where it starts, from the root. */
  readonly entries: readonly string[];
  readonly commands: readonly Command[];
}

/** A part of the project: a package of its own, or a folder of code. */
export interface Component {
  /** From the root. */
  readonly folder: string;
  readonly files: number;
  readonly languages: readonly LanguageCount[];
  readonly manifest: Manifest | null;
  /** What its own manifest or the head of its main file says it is. */
  readonly about: string;
  /** The file whose head says it; '' when it is the folder's own description. */
  readonly aboutFrom: string;
  /** What lies directly in it, folders first. */
  readonly holds: readonly string[];
}

export interface Facts {
  readonly name: string;
  readonly description: string;
  readonly files: number;
  readonly languages: readonly LanguageCount[];
  readonly manifests: readonly Manifest[];
  readonly components: readonly Component[];
  readonly commands: readonly Command[];
  /** What CI runs, by file. */
  readonly ci: readonly { readonly file: string; readonly commands: readonly string[] }[];
  /** Dockerfiles, compose files, infrastructure as code. */
  readonly deployment: readonly string[];
  /** Other texts that agents and people should know: AGENTS.md, CONTRIBUTING.md, docs. */
  readonly documents: readonly string[];
  /** Heads of files for whoever writes the prose, by path. */
  readonly texts: ReadonlyMap<string, string>;
  /** All paths that were listed, from the root: what a text may name. */
  readonly paths: ReadonlySet<string>;
  /** What was left out because of a limit, for the user. */
  readonly limits: readonly string[];
}
