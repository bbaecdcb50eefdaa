// A picture out of the system's clipboard, by the program that the desktop has for it. The terminal hands on text alone, so the desktop is
// asked. What is missing is said. What is a picture, and how large it may be, the orchestrator knows.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cleanLine } from '../../shared/clean-text.ts';
import { UserError } from '../../shared/outcome.ts';

/** Null: no picture is in it. */
type Read = (run: Run) => Promise<Buffer | null>;
type Run = (program: string, ...args: readonly string[]) => Promise<Buffer>;

interface Helper {
  readonly program: string;
  /** What it comes with. */
  readonly from: string;
  readonly read: Read;
}

const TIMEOUT_MS = 10_000;
/** Of what a helper says, which may be text that stands for the bytes. */
const MAX_OUTPUT = 64 * 1024 * 1024;
/** Models take these; the first that the clipboard has. */
const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

const BY_PATH = 'Name a file instead: @shot.png, or its whole path.';

/** Throws UserError when there is none, or when it cannot be read here; that says what to do. */
export async function readClipboardPicture(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  platform: NodeJS.Platform = process.platform,
): Promise<Buffer> {
  const helpers = helpersOf(env, platform);
  const [first] = helpers;
  if (first === undefined) throw new UserError(`${whyNone(env)} ${BY_PATH}`);
  const run: Run = async (program, ...args) => {
    const options = { env, signal, encoding: 'buffer', timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT } as const;
    return (await promisify(execFile)(program, args, options)).stdout;
  };
  for (const { program, read } of helpers) {
    try {
      const picture = await read(run);
      if (picture !== null && picture.length > 0) return picture;
    } catch (error) {
      if ((error as Failed).code === 'ENOENT') continue;
      throw error instanceof UserError ? error : new UserError(`${whatFailed(program, error as Failed)} ${BY_PATH}`);
    }
    throw nothingThere();
  }
  const { program, from } = first;
  throw new UserError(
    `a picture is read from the clipboard by ${program}, which is not installed (${from}). ${BY_PATH}`,
  );
}

/** Those that can see the clipboard from here, the best first. */
function helpersOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): readonly Helper[] {
  const has = (name: string) => (env[name] ?? '') !== '';
  // The clipboard of the machine at the other end is not the user's; a display that X11 forwards is.
  if (isRemote(env)) return /^[^:]+:/.test(env['DISPLAY'] ?? '') ? [XCLIP] : [];
  if (platform === 'darwin') return [PNGPASTE, OSASCRIPT];
  if (platform === 'win32' || has('WSL_DISTRO_NAME')) return [POWERSHELL];
  return [...(has('WAYLAND_DISPLAY') ? [WL_PASTE] : []), ...(has('DISPLAY') ? [XCLIP] : [])];
}

const isRemote = (env: NodeJS.ProcessEnv): boolean =>
  ['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY'].some((name) => (env[name] ?? '') !== '');

const whyNone = (env: NodeJS.ProcessEnv): string =>
  isRemote(env)
    ? 'over ssh the clipboard of your own machine cannot be read: copy the picture to this one.'
    : 'there is no clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set.';

interface Failed extends Error {
  /** Of the process, when it has ended by itself; else a name. */
  readonly code?: number | string;
  readonly killed?: boolean;
  readonly stderr?: Buffer;
}

const saidBy = ({ stderr }: Failed): string => cleanLine(stderr?.toString('utf8') ?? '', 200);

function whatFailed(program: string, error: Failed): string {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'the picture in the clipboard is far too large.';
  if (error.killed === true) return `${program} gave no answer in ${TIMEOUT_MS / 1_000} s.`;
  const said = saidBy(error);
  return `${program} could not read the clipboard${said === '' ? '' : ` (${said})`}.`;
}

const nothingThere = (said = ''): UserError =>
  new UserError(
    `no picture is in the clipboard${said === '' ? '' : ` (${said})`}. Text the terminal pastes itself, mostly by Ctrl-Shift-V or Cmd-V.`,
  );

/** Of the types that the clipboard offers, one that models take. No list is an empty clipboard. */
async function byType(listing: Promise<Buffer>, paste: (type: string) => Promise<Buffer>): Promise<Buffer | null> {
  const listed = await listing.catch((error: Failed) => {
    if (typeof error.code === 'number') throw nothingThere(saidBy(error));
    throw error;
  });
  const offered = listed.toString('utf8').split(/\s+/);
  const type = TYPES.find((one) => offered.includes(one));
  if (type !== undefined) return await paste(type);
  const other = offered.find((one) => one.startsWith('image/'));
  if (other === undefined) return null;
  throw new UserError(`the clipboard has ${cleanLine(other, 60)}, and models take PNG, JPEG, GIF and WebP. ${BY_PATH}`);
}

const WL_PASTE: Helper = {
  program: 'wl-paste',
  from: 'package wl-clipboard',
  read: (run) => byType(run('wl-paste', '--list-types'), (type) => run('wl-paste', '--no-newline', '--type', type)),
};

const SELECTION = ['-selection', 'clipboard', '-o'] as const;
const XCLIP: Helper = {
  program: 'xclip',
  from: 'package xclip',
  read: (run) => byType(run('xclip', ...SELECTION, '-t', 'TARGETS'), (type) => run('xclip', ...SELECTION, '-t', type)),
};

/** It ends with 1 when no picture is there, and so may what comes next to it. */
const PNGPASTE: Helper = {
  program: 'pngpaste',
  from: 'brew install pngpaste',
  read: async (run) => await run('pngpaste', '-').catch(orNone),
};

/** Says the bytes as «data PNGf89504E47…». */
const OSASCRIPT: Helper = {
  program: 'osascript',
  from: 'a part of macOS',
  async read(run) {
    const said = await run('osascript', '-e', 'the clipboard as «class PNGf»').catch(orNone);
    const hex = /PNGf([0-9A-Fa-f]+)/.exec(said?.toString('latin1') ?? '')?.[1];
    return hex === undefined ? null : Buffer.from(hex, 'hex');
  },
};

const POWERSHELL: Helper = {
  program: 'powershell.exe',
  from: 'a part of Windows',
  async read(run) {
    const said = await run('powershell.exe', '-NoProfile', '-NonInteractive', '-STA', '-Command', POWERSHELL_SCRIPT);
    return Buffer.from(said.toString('latin1').trim(), 'base64');
  },
};

const POWERSHELL_SCRIPT = [
  'Add-Type -AssemblyName System.Windows.Forms,System.Drawing',
  '$picture = [System.Windows.Forms.Clipboard]::GetImage()',
  'if ($picture) { $stream = New-Object System.IO.MemoryStream',
  '$picture.Save($stream, [System.Drawing.Imaging.ImageFormat]::Png)',
  '[Convert]::ToBase64String($stream.ToArray()) }',
].join('; ');

/** Ended by itself with a number: there is none. */
function orNone(error: Failed): null {
  if (typeof error.code === 'number') return null;
  throw error;
}
