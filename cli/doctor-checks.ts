// What `odin doctor` looks at, one function a check. Each says what it found, or what to do; none throws.

import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { makeFolders } from '../orchestrator/make-folders.ts';
import { isFolderTrusted, trustedSince } from '../orchestrator/trust.ts';
import { findRoot } from '../orchestrator/workspace.ts';
import { UserError } from '../shared/outcome.ts';
import { openModels } from './open-models.ts';
import { type Place, withOdin } from './place.ts';
import { settingsOf } from './settings.ts';
import { configTrustText, folderTrustText } from './trust-text.ts';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** Odin cannot work without it. */
  readonly needed: boolean;
  /** What was found, or what to do. */
  readonly text: string;
}

const MODEL_TIMEOUT_MS = 10_000;
const PROGRAM_TIMEOUT_MS = 10_000;

/** All checks, side by side, in the order in which they are shown. */
export function allChecks(place: Place): readonly Promise<Check>[] {
  return [
    node(),
    home(place),
    redisProgram(place),
    redisConnection(place),
    ripgrep(),
    settings(place),
    folderTrust(place),
    configTrust(place),
    instructions(place),
    model(place),
    program('git', false, 'install git: undo over several sessions and worktrees need it'),
    program(
      'bwrap',
      false,
      'install bubblewrap: without it commands run outside of a sandbox and Odin asks more often',
    ),
    processLimit(),
  ];
}

async function node(): Promise<Check> {
  const version = process.versions.node;
  const isGood = Number.parseInt(version, 10) >= 24;
  return {
    name: 'Node',
    ok: isGood,
    needed: true,
    text: isGood ? version : `${version} is too old: install Node 24 or newer`,
  };
}

async function home({ home }: Place): Promise<Check> {
  const probe = join(home, `.doctor-${randomUUID()}`);
  try {
    makeFolders(home, 0o700);
    await writeFile(probe, '');
    await rm(probe);
    return { name: 'state folder', ok: true, needed: true, text: home };
  } catch (error) {
    const text = `${home} cannot be written (${(error as NodeJS.ErrnoException).code}): make it writable, or set ODIN_HOME`;
    return { name: 'state folder', ok: false, needed: true, text };
  }
}

async function redisProgram({ redisUrl }: Place): Promise<Check> {
  const needed = redisUrl === undefined;
  for (const name of ['redis-server', 'valkey-server']) {
    const version = await versionOf(name);
    if (version !== null) return { name: 'Redis program', ok: true, needed, text: version };
  }
  const text = needed
    ? 'no redis-server or valkey-server on PATH: install one (apt install redis-server, brew install redis) or set REDIS_URL'
    : 'none on PATH; not needed, as REDIS_URL is set';
  return { name: 'Redis program', ok: false, needed, text };
}

async function redisConnection(place: Place): Promise<Check> {
  const what = place.redisUrl === undefined ? 'private server in the state folder' : 'server at REDIS_URL';
  try {
    await withOdin(place, null, async (odin) => await odin.lastSession());
    return { name: 'Redis', ok: true, needed: true, text: `${what} answers` };
  } catch (error) {
    return { name: 'Redis', ok: false, needed: true, text: `${what}: ${(error as Error).message}` };
  }
}

async function ripgrep(): Promise<Check> {
  try {
    const { rgPath } = await import('@vscode/ripgrep');
    const { stdout } = await execa(rgPath, ['--version'], { timeout: PROGRAM_TIMEOUT_MS });
    return { name: 'ripgrep', ok: true, needed: true, text: firstLine(stdout) };
  } catch (error) {
    const text = `does not run (${firstLine((error as Error).message)}): run \`npm ci\` in Odin's folder`;
    return { name: 'ripgrep', ok: false, needed: true, text };
  }
}

async function settings(place: Place): Promise<Check> {
  try {
    await settingsOf(place);
    return { name: 'settings', ok: true, needed: true, text: 'no mistake found' };
  } catch (error) {
    return { name: 'settings', ok: false, needed: true, text: messageOf(error) };
  }
}

async function folderTrust({ cwd, home }: Place): Promise<Check> {
  const name = 'trust in this folder';
  try {
    return { name, ok: true, needed: false, text: folderTrustText(trustedSince(home, findRoot(cwd))) };
  } catch (error) {
    return { name, ok: false, needed: false, text: messageOf(error) };
  }
}

async function configTrust(place: Place): Promise<Check> {
  const name = 'trust in odinconfig.json';
  try {
    const { trust } = await settingsOf(place);
    return { name, ok: trust.waiting.length === 0, needed: false, text: configTrustText(trust) };
  } catch (error) {
    return { name, ok: false, needed: false, text: messageOf(error) };
  }
}

async function instructions({ cwd, home }: Place): Promise<Check> {
  const [{ readInstructions }, { instructionsLine }] = await Promise.all([
    import('../orchestrator/instructions.ts'),
    import('./instructions-line.ts'),
  ]);
  const root = findRoot(cwd);
  const { files, warnings } = readInstructions({ root, cwd, home, trusted: isFolderTrusted(home, root) });
  const text =
    files.length === 0
      ? 'no ODIN.md, AGENTS.md or CLAUDE.md; `odin init` writes one'
      : instructionsLine({ instructions: files });
  return { name: 'instructions', ok: warnings.length === 0, needed: false, text: [text, ...warnings].join('; ') };
}

async function model(place: Place): Promise<Check> {
  const check = (ok: boolean, text: string): Check => ({ name: 'model', ok, needed: true, text });
  try {
    const models = await openModels({}, await settingsOf(place));
    const provider = await models.provider(models.model);
    const listed = await provider.listModels(AbortSignal.timeout(MODEL_TIMEOUT_MS));
    if (!listed.ok) return check(false, `${models.model} (from ${models.source}): ${listed.failure.message}`);
    const isListed = listed.value.includes(models.model.slice(models.model.indexOf('/') + 1));
    return check(
      true,
      `${models.model} (from ${models.source})${isListed ? '' : '; the provider does not list it, but may know it'}`,
    );
  } catch (error) {
    return check(false, messageOf(error));
  }
}

async function program(name: string, needed: boolean, advice: string): Promise<Check> {
  const version = await versionOf(name);
  return { name, ok: version !== null, needed, text: version ?? advice };
}

async function processLimit(): Promise<Check> {
  const { findProcessLimit, MAX_PROCESSES } = await import('../orchestrator/exec/limits.ts');
  const limit = findProcessLimit();
  const text = limit.kind === 'none' ? limit.reason : `a command may have ${MAX_PROCESSES} processes at once`;
  return { name: 'process limit', ok: limit.kind !== 'none', needed: false, text };
}

async function versionOf(name: string): Promise<string | null> {
  try {
    const { stdout } = await execa(name, ['--version'], { timeout: PROGRAM_TIMEOUT_MS });
    return firstLine(stdout);
  } catch {
    return null;
  }
}

const firstLine = (text: string): string => text.split('\n')[0]?.trim() ?? '';

/** A refusal's own words; anything else is told whole. */
const messageOf = (error: unknown): string => (error instanceof UserError ? firstLine(error.message) : String(error));
