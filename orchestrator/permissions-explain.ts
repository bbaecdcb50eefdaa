// How a command is judged, and the facts to judge it by: this world's, or a table's (a project at /project). For `odin explain`, which
// runs nothing and asks nobody.

import { homedir } from 'node:os';
import * as z from 'zod';
import { fail, type Outcome, ok } from '../shared/outcome.ts';
import { decide } from '../tools/safety/decide.ts';
import { type Facts, resolveWithLinks } from '../tools/safety/facts.ts';
import { resolveOnDisk } from '../tools/safety/fs-links.ts';
import { type Answer, decisionsByMode } from '../tools/safety/modes.ts';
import type { Config } from './config.ts';
import { controlPlaces } from './exec/control-places.ts';
import { findSandbox } from './exec/sandbox.ts';
import { openRuleStore } from './permissions-rules.ts';
import { parseRedisUrl } from './redis-url.ts';

export type TableFacts = z.infer<typeof factsSchema>;
export type Explained = ReturnType<typeof explainCommand>;

const factsSchema = z.strictObject({
  root: z.string().optional(),
  cwd: z.string().optional(),
  home: z.string().optional(),
  links: z.record(z.string(), z.string()).optional(),
  allowed: z.array(z.string()).optional(),
  forbidden: z.array(z.string()).optional(),
  sandbox: z.boolean().optional(),
  plainGitConfig: z.boolean().optional(),
  tainted: z.boolean().optional(),
  caseInsensitive: z.boolean().optional(),
});
const lineSchema = z.strictObject({ command: z.string(), facts: factsSchema.optional() });

/** Its class, why, and what each mode would do with it when somebody is there to be asked. */
export function explainCommand(command: string, facts: Facts) {
  const decision = decide(command, facts);
  const { ask, plan, edit } = decisionsByMode(decision, { sandbox: facts.sandbox, canAsk: true });
  const word = (answer: Answer) => (answer === 'run' ? 'allow' : answer);
  return {
    class: decision.class,
    op: decision.op,
    decisions: { ask: word(ask), plan: word(plan), edit: word(edit) },
    reasons: decision.reasons,
    paths: decision.paths,
  };
}

/** The facts that a table takes for granted, with some of them changed. */
export function tableFacts({ links = {}, ...given }: TableFacts): Facts {
  const root = given.root ?? '/project';
  return {
    cwd: root,
    home: '/home/dev',
    resolve: resolveWithLinks(links),
    allowed: [],
    forbidden: [],
    sandbox: true,
    plainGitConfig: false,
    ...(given as Partial<Facts>),
    root,
  };
}

/** The facts of this world. `root` is the project's real path. */
export async function factsHere(
  place: { readonly cwd: string; readonly home: string; readonly redisUrl?: string },
  root: string,
  config: Pick<Config, 'allowedCommands' | 'forbiddenCommands'>,
): Promise<Facts> {
  const confined = (await findSandbox()).status.kind !== 'none';
  return {
    root,
    cwd: place.cwd,
    home: homedir(),
    resolve: resolveOnDisk,
    allowed: [...config.allowedCommands, ...openRuleStore(place.home, root).rules()],
    forbidden: config.forbiddenCommands,
    sandbox: confined,
    // Not looked at: without a sandbox what git would do here is asked about.
    plainGitConfig: confined,
    caseInsensitive: process.platform !== 'linux',
    control: controlPlaces(place.home, place.redisUrl === undefined ? '' : parseRedisUrl(place.redisUrl).where),
  };
}

/** The facts in a JSON text. */
export const parseFacts = (text: string): Outcome<TableFacts> => parseJson(text, factsSchema);

/** One line of a stream of commands: `{command, facts}`. */
export const parseCase = (text: string): Outcome<z.infer<typeof lineSchema>> => parseJson(text, lineSchema);

function parseJson<T>(text: string, schema: z.ZodType<T>): Outcome<T> {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? ok(parsed.data) : fail('invalid', 'bad_facts', z.prettifyError(parsed.error));
  } catch (error) {
    return fail('invalid', 'bad_json', `not valid JSON: ${(error as Error).message}`);
  }
}
