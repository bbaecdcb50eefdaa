// Pictures that go with a message: those that were pasted, which stand in it as a mark, and those that it names: `@shot.png`, or a whole path as terminals paste it when a file is dropped on them: quoted, with escaped
// blanks, or a file: URL. A name in a sentence is only a name, and in a long text, which is pasted from somewhere, whole paths are too: what
// the user did not choose is not sent. What is a picture and what a model takes the orchestrator knows; what cannot go along is said.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Odin } from '../orchestrator/api.ts';
import { cleanLine } from '../shared/clean-text.ts';
import { type ImageRef, imageLabel, MOST_IMAGES } from '../shared/images.ts';
import { UserError } from '../shared/outcome.ts';

export interface MessageImages {
  readonly images: readonly ImageRef[];
  /** Why others do not go along, one line each. */
  readonly problems: readonly string[];
}

/** `marked`: those that are kept already, by the mark that stands in the text for each. */
export async function imagesIn(
  body: string,
  model: string | null,
  cwd: string,
  odin: Pick<Odin, 'root' | 'keepImage'>,
  marked: ReadonlyMap<string, ImageRef> = new Map(),
): Promise<MessageImages> {
  const named = pathsIn(body).flatMap(({ path, isMeant }) => {
    const found = [odin.root, cwd].map((folder) => resolve(folder, path)).find(existsSync);
    return found !== undefined ? [found] : isMeant ? [resolve(odin.root, path)] : [];
  });
  const images = [...marked].filter(([mark]) => body.includes(mark)).map(([, image]) => image);
  const problems = [...body.matchAll(PASTED)]
    .filter(([mark]) => !marked.has(mark))
    .map(([mark]) => `${mark} goes as a word: the picture is not here any more. Paste it again.`);
  for (const path of new Set(named)) {
    try {
      if (images.length >= MOST_IMAGES) throw new UserError(`A message takes ${MOST_IMAGES} pictures at most.`);
      images.push(await odin.keepImage(path, model));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(`${cleanLine(path)} goes as a path: ${error.message}`);
    }
  }
  return { images, problems };
}

/** Of a command line: files that were given, which must be pictures, and those that its words name; what cannot go along is told. */
export async function picturesOf(
  {
    files = [],
    typed,
    model,
    cwd,
  }: {
    readonly files?: readonly string[];
    readonly typed: string;
    readonly model: string | null;
    readonly cwd: string;
  },
  odin: Pick<Odin, 'root' | 'keepImage'>,
  tell: (line: string) => void,
): Promise<{ readonly images?: readonly ImageRef[] }> {
  const given: ImageRef[] = [];
  for (const file of files) given.push(await odin.keepImage(resolve(cwd, file), model));
  const named = await imagesIn(typed, model, cwd, odin);
  named.problems.forEach(tell);
  const images = new Map([...given, ...named.images].map((image) => [image.sha256, image]));
  return images.size === 0 ? {} : { images: [...images.values()] };
}

/** What was pasted is named by its content, so that no two have one name. */
export const pastedName = (bytes: Buffer): string =>
  `clipboard-${createHash('sha256').update(bytes).digest('hex').slice(0, 6)}`;

/** What stands in the text for a picture. */
export const markOf = (image: ImageRef): string => `[${imageLabel(image)}]`;

const PASTED = /\[clipboard-[0-9a-f]{6}, \d+×\d+\]/g;

const WORD = /(?:^|\s)(@?)(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s"'\\])+))/g;
const IMAGE = /\.(?:png|jpe?g|gif|webp)$/i;

/** A message with a dropped file is no longer. */
const MAX_DROPPED_CHARS = 1_000;

/** `isMeant`: with an `@`, so that one that is not there is said. */
export function pathsIn(body: string): readonly { readonly path: string; readonly isMeant: boolean }[] {
  return [...body.matchAll(WORD)].flatMap(([, at, double, single, bare]) => {
    const text = double ?? single ?? (bare ?? '').replace(/[,.;:!?)]+$/, '').replace(/\\(.)/g, '$1');
    if (!IMAGE.test(text)) return [];
    const path = text.startsWith('file://') ? pathOf(text) : text.replace(/^~(?=\/)/, homedir());
    const isMeant = at === '@';
    return isMeant || (isAbsolute(path) && body.length <= MAX_DROPPED_CHARS) ? [{ path, isMeant }] : [];
  });
}

/** A URL of another machine, or with an encoded slash, names no path here. */
function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}
