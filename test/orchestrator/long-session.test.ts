// 400 turns and 2 MB of tool output in one session, on a model with a small window. The model server counts what it is sent, by its own
// rules, and looks whether anything was forgotten; Odin runs in a process of its own, so that its memory is its own.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import type { LongSessionOrder, LongSessionReport } from '../support/long-session-child.ts';
import { printedSeed, randomFrom } from '../support/seed.ts';

const WINDOW = 32_000;
const MESSAGES = 8;
const STEPS = 50;
const FILES = 40;
const FILE_CHARS = 5_400;

const random = randomFrom(printedSeed('long session'));
const WORDS = 'parser login cache retry socket invoice token window anchor shard ledger pivot quorum session'.split(
  ' ',
);

function fileText(n: number): string {
  const lines: string[] = [`// file ${n}`];
  for (let size = 0; size < FILE_CHARS; size += lines.at(-1)?.length ?? 0) {
    lines.push(
      `const ${WORDS[random(14)]}${random(1000)} = ${WORDS[random(14)]}(${random(100_000)}, "${WORDS[random(14)]}");`,
    );
  }
  return lines.join('\n');
}

const question = (k: number) => `Open question ${k}: may module ${WORDS[k]} keep its old name?`;
const bodies = Array.from({ length: MESSAGES }, (_, k) => `Part ${k}: read on, look for ${WORDS[k]}. ${question(k)}`);
const todo = (k: number, of: number) => ({
  id: `${k}.${of}`,
  content: `Part ${k}, task ${of}: check ${WORDS[of]} in full`,
  status: 'pending',
});

/** Calls a tool in all steps but the last of each message; keeps count of what every request must still hold. */
function createModel() {
  const seen = { turns: 0, toolChars: 0, ownTokens: 0, missing: [] as string[], summaries: 0 };
  let todos: { content: string }[] = [];
  let known: string[] = [];
  let step = 0;
  let largest: string[] = [];

  const script = ({ model, body, lastToolResults, messagesText }: ScriptedTurn): ScriptedAnswer => {
    if (model === 'small') {
      seen.summaries += 1;
      return { text: `Summary ${seen.summaries}: read many files, found nothing yet.` };
    }
    const text = JSON.stringify(body);
    const message = Math.floor(seen.turns / STEPS);
    step = seen.turns % STEPS;
    seen.turns += 1;
    seen.toolChars += lastToolResults.reduce((sum, result) => sum + result.text.length, 0);
    seen.ownTokens = Math.max(seen.ownTokens, Math.ceil(Buffer.byteLength(text) / 4));
    largest = [...largest, text].toSorted((a, b) => b.length - a.length).slice(0, 12);
    if (step === 0) known = [...known, bodies[message] ?? ''];
    for (const one of [...known, ...todos.map(({ content }) => content)]) {
      if (!messagesText.includes(one)) seen.missing.push(`turn ${seen.turns}: ${one}`);
    }
    if (step === STEPS - 1) return { text: `Part ${message} is done.` };
    if (step % 10 === 3) {
      const list = Array.from({ length: 6 }, (_, k) => todo(message, k + step));
      todos = list;
      return { toolCalls: [{ name: 'TodoWrite', args: { todos: list } }] };
    }
    return { toolCalls: [{ name: 'ReadFile', args: { file_path: `src/f${(seen.turns * 7) % FILES}.ts` } }] };
  };
  /** What OpenAI's tokenizer says of the largest requests. */
  const strictTokens = () => Math.max(...largest.map((text) => countTokens(text)));
  return { script, seen, strictTokens };
}

test('E19, O21: 400 turns with 2 MB of tool output stay under a window of 32,000 tokens and forget no todo and no question', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'odin-long-'));
  const project = join(folder, 'project');
  const home = join(folder, 'home');
  mkdirSync(join(project, 'src'), { recursive: true });
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(project, 'ODIN.md'), '# A long one\n');
  for (let n = 0; n < FILES; n++) writeFileSync(join(project, 'src', `f${n}.ts`), fileText(n));
  const models = { 'anthropic/scripted': { context: WINDOW }, 'anthropic/small': { context: 16_000 } };
  writeFileSync(join(home, 'config.json'), JSON.stringify({ models }));
  const { script, seen, strictTokens } = createModel();
  const server = await startScriptedServer({ script, keepBodies: false });
  try {
    const report = await runChild({ url: server.url, project, home, bodies, maxSteps: STEPS + 5 });
    expect(report.ends).toEqual(bodies.map((_, k) => `completed: Part ${k} is done.`));
    expect(seen.turns).toBe(MESSAGES * STEPS);
    expect(seen.toolChars).toBeGreaterThan(2_000_000);
    expect(seen.missing).toEqual([]);
    expect(seen.ownTokens).toBeLessThan(WINDOW);
    expect(strictTokens()).toBeLessThan(WINDOW);
    expect(report.compactions).toBeGreaterThan(10);
    expect(report.heapAtEnd - report.heapAt20).toBeLessThan(150 * 2 ** 20);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

function runChild(order: LongSessionOrder): Promise<LongSessionReport> {
  const path = new URL('../support/long-session-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--expose-gc', path, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(out) as LongSessionReport);
      else reject(new Error(`The child ended with ${code}: ${err}`));
    });
  });
}
