// Each element of the interface at sizes from 60×20 to 200×60, with and without colour, with wide characters, and resized in the middle.

import { expect, test } from '@jest/globals';
import type { Script } from '../../../llm/scripted/script.ts';
import { ENTER, withApp } from './with-app.ts';

const WIDE = '漢字かな交じり文 한국어 🙂👩‍👩‍👧 café ';
const answers: Script = ({ userText, stepOfMessage }) => {
  if (stepOfMessage === 0) {
    return {
      thinking: `I think about ${WIDE.repeat(8)}`,
      text: `Look: ${WIDE.repeat(6)}`,
      toolCalls: [
        { name: 'TodoWrite', args: { todos: [{ id: '1', content: WIDE.repeat(9), status: 'in_progress' }] } },
        { name: 'ExecuteCommand', args: { command: `printf '%s\\n' '${WIDE.repeat(12)}'` } },
        { name: 'Grep', args: { pattern: 'nothing-there' } },
      ],
    };
  }
  const table = `| ${WIDE} | b |\n|---|---|\n| ${WIDE.repeat(5)} | ${'x'.repeat(300)} |`;
  return {
    text: `# ${WIDE}\n\n${table}\n\n\`\`\`py\n${'y = 1; '.repeat(60)}\n\`\`\`\n\n> ${WIDE.repeat(9)}\n\nend of ${userText.length}`,
  };
};

for (const [columns, rows] of [
  [60, 20],
  [100, 30],
  [200, 60],
] as const) {
  test(`G1: at ${columns}×${rows} everything fits, also wide characters, tables and long lines of code`, async () => {
    await withApp(
      answers,
      async ({ screen }) => {
        screen.type(`${WIDE.repeat(4)}${ENTER}`);
        await screen.until(/end of \d+\n\n {2}completed/);
        const all = screen.all();
        expect(all).toMatch(/漢字かな/);
        expect(all).toContain('∴ thought: I think about');
        // The editor, its frame and the status line stand at the end, whole.
        expect(all).toMatch(new RegExp(`─{${columns}}\\n.*\\n─{${columns}}\\n edit · scripted`));
        screen.type('\u000f');
        await screen.until(/edit · scripted/);
      },
      { columns, rows, mode: 'edit' },
    );
  });
}

test('G1: a window that is made small and large again while an answer streams shows all of it, once', async () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async ({ stepOfMessage }) => {
    if (stepOfMessage === 0) return { text: 'Before the change.', toolCalls: [{ name: 'LS', args: { path: '.' } }] };
    await gate.promise;
    return { text: 'After it.' };
  };
  await withApp(script, async ({ screen }) => {
    screen.type(`resize me${ENTER}`);
    await screen.until(/✓ LS/);
    screen.resize(40, 12);
    await screen.until(/^─{40}$/m);
    screen.resize(120, 40);
    await screen.until(/^─{120}$/m);
    gate.resolve();
    const shown = await screen.until(/After it\.\n\n {2}completed/);
    expect(shown.match(/Before the change\./g)).toHaveLength(1);
    expect(shown.match(/resize me/g)).toHaveLength(1);
  });
});

test('G1: NO_COLOR leaves no colour anywhere, a light background gets no yellow and cyan', async () => {
  await withApp(answers, async ({ screen }) => {
    screen.type(`plain${ENTER}`);
    await screen.until(/completed · 2 steps/);
    expect(screen.written.text).not.toMatch(/\u001b\[(?:1|2|3[0-7]|9[0-7])m/);
    screen.type(`/theme light${ENTER}`);
    screen.type(`!true${ENTER}`);
    await screen.until(/! true \(exit 0\)/);
    expect(screen.written.text).not.toMatch(/\u001b\[3[36]m/);
    screen.type(`/theme dark${ENTER}`);
    screen.type(`!true${ENTER}`);
    await screen.until(/exit 0[^]*exit 0/);
    expect(screen.written.text).toMatch(/\u001b\[36m/);
  });
});
