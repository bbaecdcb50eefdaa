// A tool call in a few words for one line: `Grep "retry" in src`. Knows the arguments that people care about, guesses the rest.

import { cleanLine } from '../shared/clean-text.ts';
import type { Json, JsonObject } from '../shared/json.ts';

const MAX_CHARS = 100;

/** Tool and arguments on one clean line. */
export function describeCall(tool: string, args: Json): string {
  const fields = isObject(args) ? args : {};
  return cleanLine(`${tool} ${describeArgs(fields)}`, MAX_CHARS);
}

function describeArgs(args: JsonObject): string {
  const path = text(args.file_path) ?? text(args.path);
  const pattern = text(args.pattern);
  if (pattern !== undefined) return `"${pattern}"${path === undefined ? '' : ` in ${path}`}`;
  if (path !== undefined) return `${path}${lines(args)}`;
  if (Array.isArray(args.todos)) return `${args.todos.length} items`;
  const first = Object.values(args).find((value) => typeof value === 'string');
  return text(first) ?? '';
}

function lines({ offset, limit }: JsonObject): string {
  if (typeof offset !== 'number' && typeof limit !== 'number') return '';
  const start = typeof offset === 'number' ? offset : 1;
  return typeof limit === 'number' ? `:${start}-${start + limit - 1}` : `:${start}-`;
}

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
