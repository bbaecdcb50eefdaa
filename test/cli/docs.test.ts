import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { EXIT } from '../../cli/exit-codes.ts';
import { buildProgram } from '../../cli/program.ts';
import { configJsonSchema } from '../../orchestrator/config-schema.ts';

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('docs/ says what is so', () => {
  test('G4: events.md has every event with exactly its fields, and an example of it', async () => {
    const [source, page] = await Promise.all([read('shared/stream-events.ts'), read('docs/events.md')]);
    const fieldsOf = (text: string) => [...text.matchAll(/readonly (\w+):/g)].map((match) => match[1]);
    const declared = [...source.matchAll(/Base & \{([^}]*)\}/g)].map(([, body = '']) => ({
      type: /type: '(\w+)'/.exec(body)?.[1],
      fields: fieldsOf(body),
    }));
    expect(declared.length).toBeGreaterThan(15);
    const examples = [...page.matchAll(/^\{"type".*$/gm)].map(([line]) => JSON.parse(line) as Record<string, unknown>);
    for (const { type, fields } of declared) {
      expect(page).toContain(`| \`${type}\` |`);
      const example = examples.find((one) => one['type'] === type);
      expect(Object.keys(example ?? {}).toSorted()).toEqual([...fields, 'session', 'id', 'at', 'seq'].toSorted());
    }
    expect(examples).toHaveLength(declared.length);
  });

  test('events.md has every exit code', async () => {
    const page = await read('docs/events.md');
    for (const code of Object.values(EXIT)) expect(page).toContain(`\n| ${code} | `);
  });

  test('every odin command that the pages show exists, with the options they show', async () => {
    const pages = await Promise.all(
      [
        'getting-started',
        'dashboard',
        'instructions',
        'modes',
        'agents',
        'configuration',
        'events',
        'permissions',
        'budgets',
        'troubles',
        'durability',
        'batch',
        'workers',
        'terminal',
        'hooks',
        'web',
      ].map((name) => read(`docs/${name}.md`)),
    );
    const { program } = buildProgram();
    const shown = pages.join('\n').matchAll(/\bodin ([a-z]+)((?: [^`|#\n]*)?)/g);
    const names = program.commands.map((command) => command.name());
    let seen = 0;
    for (const [, name = '', rest = ''] of shown) {
      expect(names).toContain(name);
      const command = program.commands.find((one) => one.name() === name);
      const all = [command, ...(command?.commands ?? [])];
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) {
        expect(all.flatMap((one) => one?.options.map(({ long }) => long))).toContain(option);
      }
      seen += 1;
    }
    expect(seen).toBeGreaterThan(10);
  });

  test('configuration.md names every key', async () => {
    const page = await read('docs/configuration.md');
    const { properties } = configJsonSchema() as { properties: Record<string, { properties?: object }> };
    for (const [key, { properties: inner }] of Object.entries(properties)) {
      if (key === '$schema') continue;
      expect(page).toContain(key);
      for (const name of Object.keys(inner ?? {})) expect(page).toMatch(new RegExp(`[.\`]${name}\``));
    }
  });
});
