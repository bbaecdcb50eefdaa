// The message of the scripts that part processes, and the effects it has: each step runs a command that leaves traces for as long as it
// runs, who it was and when; some edit a file. Inside and outside, two models give the same answers.

import type { ScriptedAnswer, ScriptedTurn } from '../../llm/scripted/script.ts';

/** A model cannot count further: what is not there is the end. */
export const STEPS = 24;
/** Twenty a second. */
const LONG_TICKS = 600;

/** `long`: the command of that step goes on for half a minute where the message runs first, unless it is stopped. */
export const promptOf = (name: string, long: number | null): string => `work ${name}; long ${long ?? -1};`;

/** What commands run: `sh effect.sh STEP TICKS NAME`. A line has the step, what it is, the time in nanoseconds and who it was. */
export const EFFECT = `step=$1 ticks=$2 name=$3
who=$(cat /etc/hostname)
case $who in inside) ;; *) who=outside ;; esac
tell() { echo "$step $1 $(date +%s%N) $who" >> "effects-$name.log"; }
tell start
while [ $ticks -gt 0 ]; do sleep 0.05; tell tick; ticks=$((ticks - 1)); done
tell end
`;

export interface Trace {
  readonly step: number;
  readonly what: string;
  readonly atMs: number;
  readonly who: string;
}

export const tracesOf = (text: string): readonly Trace[] =>
  [...text.matchAll(/^\+?(\d+) (start|tick|end) (\d+) (inside|outside)$/gm)].map(
    ([, step = '', what = '', at = '', who = '']) => ({ step: Number(step), what, atMs: Number(at) / 1e6, who }),
  );

/** The answers of the model: a command for each step, and an edit with every third. */
export function stepsOf({ userText, stepOfMessage: step }: ScriptedTurn): ScriptedAnswer {
  const [, name = '', long = ''] = [...userText.matchAll(/work (\w+); long (-?\d+);/g)].at(-1) ?? [];
  if (step >= STEPS) return { text: `done ${name}` };
  const ticks = step === Number(long) ? LONG_TICKS : 2;
  const command = { name: 'ExecuteCommand', args: { command: `sh effect.sh ${step} ${ticks} ${name}` } };
  if (step % 3 !== 2) return { toolCalls: [command] };
  const file = { file_path: `tokens-${name}.txt` };
  // Who did not read the file itself lets nobody edit it; never in the same words, or it would be stopped for repeating itself.
  const read = { name: 'ReadFile', args: { ...file, limit: 100 + step } };
  const edit = { name: 'EditTool', args: { ...file, old_string: 'end\n', new_string: `token ${step};\nend\n` } };
  return { toolCalls: [read, edit, command] };
}
