// Reads the case tables of test/fixtures and makes facts for them. The tables' headers say what their columns mean.

import { readFileSync } from 'node:fs';
import type { CommandClass } from '../../../tools/safety/decision.ts';
import { type Facts, resolveWithLinks } from '../../../tools/safety/facts.ts';

export interface Case {
  readonly id: string;
  readonly command: string;
  readonly facts: Facts;
  /** The links that `facts.resolve` knows. */
  readonly links: Readonly<Record<string, string>>;
  readonly expected: CommandClass;
  readonly readOnly: string;
  readonly edit: string;
  readonly category: string;
  readonly why: string;
}

interface GivenFacts {
  readonly links?: Record<string, string>;
  readonly cwd?: string;
  readonly allowed?: readonly string[];
  readonly forbidden?: readonly string[];
  readonly sandbox?: boolean;
  readonly plainGitConfig?: boolean;
  readonly tainted?: boolean;
  readonly caseInsensitive?: boolean;
}

/** The facts that the tables take for granted, with some of them changed. */
export function factsOf({ links = {}, ...given }: GivenFacts = {}): Facts {
  return {
    root: '/project',
    cwd: '/project',
    home: '/home/dev',
    resolve: resolveWithLinks(links),
    allowed: [],
    forbidden: [],
    sandbox: true,
    plainGitConfig: false,
    ...given,
  };
}

/** The cases of one table. */
export function readCases(name: string): readonly Case[] {
  const text = readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('id\t'))
    .map((line) => {
      const [id = '', command = '', facts = '', expected = '', readOnly = '', edit = '', category = '', why = ''] =
        line.split('\t');
      const given = JSON.parse(facts) as GivenFacts;
      return {
        id,
        command: JSON.parse(command) as string,
        facts: factsOf(given),
        links: given.links ?? {},
        expected: expected as CommandClass,
        readOnly,
        edit,
        category,
        why,
      };
    });
}

export const allCases = (): readonly Case[] => [...readCases('commands.tsv'), ...readCases('commands-more.tsv')];
