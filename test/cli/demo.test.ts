import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDemoScript } from '../../cli/demo/script.ts';
import type { ScriptedTurn } from '../../llm/scripted/script.ts';
import { openBlobs } from '../../orchestrator/blobs.ts';
import { createFiles } from '../../orchestrator/files/files.ts';
import { TOOLS } from '../../tools/registry.ts';
import { openReadBench, type ReadBench } from '../support/read-bench.ts';

let bench: ReadBench;
beforeAll(async () => {
  bench = await openReadBench();
});
afterAll(() => bench.close());

/** The demo on a folder of these files: its script with the real tools, without an orchestrator around them. */
async function demoOn(name: string, files: Record<string, string | Uint8Array>) {
  const root = join(bench.root, name);
  await mkdir(root);
  for (const [path, content] of Object.entries(files)) await bench.write(join(name, path), content);
  const port = createFiles({ root, blobs: openBlobs(join(bench.root, '..', 'blobs')) }).portFor();
  const script = createDemoScript('.');
  const calls: string[] = [];
  let lastToolResults: ScriptedTurn['lastToolResults'] = [];
  for (let stepOfMessage = 0; stepOfMessage < 10; stepOfMessage++) {
    const step = await script({ stepOfMessage, lastToolResults } as ScriptedTurn);
    if (step.toolCalls === undefined) return { answer: (step.text ?? '').replaceAll(root, '/ROOT'), calls };
    calls.push(step.toolCalls.map((call) => call.name).join('+'));
    lastToolResults = await Promise.all(
      step.toolCalls.map(async ({ name: tool, args }) => {
        const known = TOOLS.get(tool);
        if (known === undefined) throw new Error(`There is no ${tool}.`);
        const outcome = await bench.run(known, args, { root, files: port });
        return { callId: tool, text: outcome.ok ? outcome.value.text : outcome.failure.message };
      }),
    );
  }
  throw new Error('The demo does not end.');
}

describe('odin demo: the script of its model, on the real tools', () => {
  test('looks around, searches, reads and answers with excerpts that stand where it says', async () => {
    const { answer, calls } = await demoOn('ordinary', {
      'package.json': '{\n  "name": "sample",\n  "description": "Does `this`."\n}\n',
      'README.md': '# Sample\n\nHello.\n',
      'src/retry.ts': '// Retries.\n\nexport function retry() {\n  return 3;\n}\nexport const LIMIT = 5;\n',
      'src/main.ts': "import './retry.ts';\n\nconst main = () => 1;\n",
      'test/a.test.ts': 'test();\n',
    });
    expect(calls).toEqual(['LS+Glob', 'Grep+Grep+Grep', 'ReadFile+ReadFile']);
    expect(answer.split('\n')).toEqual([
      '**ordinary** (/ROOT): 4 entries at the top, 5 files in all.',
      '',
      'It says about itself:',
      '- `package.json:2`: `"name": "sample",`',
      `- \`package.json:3\`: \`"description": "Does 'this'."\``,
      '- `README.md:1`: `# Sample`',
      '',
      expect.stringMatching(/^A search of its \.ts files for `.*` gave 3 lines in 2 files\. Some of them:$/),
      '- `src/main.ts:3`: `const main = () => 1;`',
      '- `src/retry.ts:3`: `export function retry() {`',
      '- `src/retry.ts:6`: `export const LIMIT = 5;`',
      '',
      'From the files read:',
      '- `src/retry.ts:3`: `export function retry() {`',
      '- `src/retry.ts:4`: `return 3;`',
      '- `src/main.ts:3`: `const main = () => 1;`',
    ]);
  });

  test('an empty folder is said to be empty', async () => {
    const { answer, calls } = await demoOn('empty', {});
    expect(calls).toEqual(['LS+Glob']);
    expect(answer).toBe('**empty** (/ROOT): 0 entries at the top, 0 files in all.\n\nThere is no file here to quote.');
  });

  test('a folder of binary files alone is named, and each says why it was not quoted', async () => {
    const noise = Uint8Array.from({ length: 500 }, (_, i) => (i * 7) % 256);
    const { answer } = await demoOn('binary', { 'a.png': noise, 'b.bin': noise });
    expect(answer).toContain('2 files in all');
    expect(answer).toMatch(/- `(a\.png|b\.bin)` could not be read: .*binary/);
  });

  test('without a README or a manifest, and without code, it quotes what text there is', async () => {
    const { answer } = await demoOn('notes', {
      'deep/notes.txt': 'first line\nsecond line\nthird line\n',
      'x.zip': Uint8Array.of(0, 1, 2),
    });
    expect(answer).toContain('- `deep/notes.txt:1`: `first line`');
    expect(answer.match(/- `deep\/notes\.txt:\d+`: /g)?.length).toBeGreaterThanOrEqual(3);
  });

  test('lines that are long, names that are odd and a wide tree do not stop it', async () => {
    const files: Record<string, string> = {
      'src/a (1).py': `def long():  # ${'x'.repeat(500)}\n`,
      'src/ü`x.py': 'class Ü:\n    pass\n',
    };
    for (let i = 0; i < 300; i++) files[`pkg/m${i}.py`] = `def f${i}(): pass\n`;
    const { answer } = await demoOn('wide', files);
    expect(answer).toContain('302 files in all');
    expect(answer).toMatch(/gave 60 lines in \d+ files, of /);
    expect(Math.max(...answer.split('\n').map((line) => line.length))).toBeLessThan(250);
    expect(answer.match(/- `[^`]+:\d+`: /g)?.length).toBeGreaterThanOrEqual(3);
  });
});
