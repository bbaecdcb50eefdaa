// The model's side of `odin demo`: look around, search, read, answer. Fixed in what it does, free in what comes out: each step is made from
// the results of the one before, on whatever folder it is.

import { join } from 'node:path';
import type { Script, ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { demoAnswer, type Seen } from './answer.ts';
import { chooseReads, chooseSearch, chooseSelfFiles, SELF_PATTERN } from './choose.ts';
import { readFolder, readFoundFiles, readFoundLines, readLines } from './read-results.ts';

const LINES_TO_READ = 40;
const LINES_TO_FIND = 60;
/** Slow enough to be seen streaming, fast enough not to be waited for. */
const PACE = { chunkSize: 24, pieceDelayMs: 4 };

type Results = readonly { readonly text: string }[];

/** A script for one message about a folder: a path, absolute or from the project's root. */
export function createDemoScript(folder: string): Script {
  const results: Results[] = [];
  return (turn: ScriptedTurn): ScriptedAnswer => {
    results[turn.stepOfMessage] = turn.lastToolResults;
    return { ...demoStep(folder, results.slice(1, turn.stepOfMessage + 1)), ...PACE };
  };
}

/** What the model says and calls after these results, one list for each step that was. */
export function demoStep(path: string, results: readonly Results[]): ScriptedAnswer {
  const [around, searched, read] = results;
  if (around === undefined) {
    return {
      text: 'First I look around.',
      toolCalls: [
        { name: 'LS', args: { path } },
        { name: 'Glob', args: { pattern: '**/*', path } },
      ],
    };
  }
  const folder = readFolder(around[0]?.text ?? '');
  const files = readFoundFiles(around[1]?.text ?? '');
  const search = chooseSearch(files);
  const nothing: Seen = { folder, files, search, self: [], found: { count: '', excerpts: [] }, read: [] };
  if (files.total === 0) return { text: demoAnswer(nothing) };
  const selfFiles = chooseSelfFiles(folder.files);
  if (searched === undefined) {
    return {
      text: `I see ${files.total} files. Now I search ${search.kind === null ? 'them' : `the .${search.kind} ones`}.`,
      toolCalls: [
        {
          name: 'Grep',
          args: {
            pattern: search.pattern,
            path,
            output_mode: 'content',
            head_limit: LINES_TO_FIND,
            ...(search.kind === null ? {} : { glob: `*.${search.kind}` }),
          },
        },
        ...selfFiles.map((name) => ({
          name: 'Grep',
          args: { pattern: SELF_PATTERN, path: join(path, name), output_mode: 'content', head_limit: 3 },
        })),
      ],
    };
  }
  const found = readFoundLines(searched[0]?.text ?? '');
  const reads = chooseReads(found, files);
  if (read === undefined) {
    return {
      text: `${found.excerpts.length} lines to choose from. I read ${reads.map(({ path }) => path).join(' and ')}.`,
      toolCalls: reads.map(({ path, from }) => ({
        name: 'ReadFile',
        args: { file_path: path, offset: from, limit: LINES_TO_READ },
      })),
    };
  }
  return {
    text: demoAnswer({
      ...nothing,
      self: searched.slice(1).flatMap(({ text }) => readFoundLines(text).excerpts),
      found,
      read: reads.map(({ path }, i) => {
        const text = read[i]?.text ?? '';
        return { path, lines: readLines(path, text), problem: text.split('\n')[0] ?? '' };
      }),
    }),
  };
}
