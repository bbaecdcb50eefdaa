// What is said about a command: to the user who is asked, to the model that is refused or reads the result. Pure text.

import type { Gate } from '../shared/define-tool.ts';
import type { BackgroundCommand, CappedOutput, CommandResult, OutputPiece } from '../shared/exec-port.ts';
import type { Mode } from '../shared/modes.ts';
import type { Judgement } from './command-judgement.ts';

type Asked = Extract<Gate<never>, { verdict: 'ask' }>;

/** The question to the user: what runs, each place outside and why, what the sandbox opens for it. */
export function commandQuestion({ decision, request, sandbox, rule }: Judgement): Omit<Asked, 'args'> {
  const outside = decision.paths.filter((path) => path.outside).map(({ path, why }) => `${showHidden(path)}: ${why}`);
  const opens = [
    ...(request.network ? ['the network'] : []),
    ...request.extraPaths.map(({ path, access }) => `${showHidden(path)} (${access})`),
  ];
  const confinement =
    sandbox.kind === 'none' ? sandbox.reason : opens.length > 0 ? `The sandbox opens for it: ${opens.join(', ')}.` : '';
  const detail = [
    showHidden(request.command),
    `in ${showHidden(request.cwd)}`,
    ...outside.map((line) => `outside: ${line}`),
    confinement,
  ];
  const first = showHidden(request.command).split('\n', 1)[0] ?? '';
  return {
    verdict: 'ask',
    title: `Run ${first.length > 100 ? `${first.slice(0, 99)}…` : first}?`,
    reasons: decision.reasons,
    detail: detail.filter((line) => line !== '').join('\n'),
    // Without the access: only a file tool's question may be covered by one about another path of its folder.
    paths: decision.paths.map(({ path, outside, why }) => ({ path, outside, why })),
    ...(rule === undefined ? {} : { rule }),
  };
}

/** What the model is told instead of a result. */
export function commandRefusal({ decision }: Judgement, mode: Mode): string {
  const reasons = decision.reasons.join(' ') || 'It is not known to be harmless.';
  if (decision.class === 'forbidden') {
    return `This command is never run: ${reasons} Do not look for another way round; tell the user what to run if it is needed.`;
  }
  const way = decision.op === 'network' ? 'Go on without the network' : 'Use LS, Grep, Glob and ReadFile to read';
  return `${mode} mode runs only commands that read: ${reasons} ${way}, or say in your answer which command edit mode should run.`;
}

/** A command's result for the model. A code other than 0 is a result like any other. */
export function commandText(result: CommandResult): string {
  const { exitCode, stopped, output, cwdAfter, leftProject, durationMs, id } = result;
  const seconds = `${(durationMs / 1000).toFixed(1)} s`;
  const ending =
    stopped === 'flood'
      ? `Stopped: it wrote more than ${megabytes(output.bytes)}.`
      : stopped === 'timeout'
        ? `Stopped after ${seconds}, its time limit.`
        : stopped === null
          ? `Exit code ${exitCode} (${seconds}).`
          : 'Stopped when Odin left.';
  const folder =
    leftProject === null
      ? `Folder: ${cwdAfter}`
      : `It ended in ${leftProject}, outside the project; the next one starts in ${cwdAfter}`;
  return `${ending} ${folder}\n${outputText(output, id)}`;
}

/** A piece of output for the model, and how to go on. */
export function pieceText(piece: OutputPiece): string {
  const { running, exitCode, text, from, next, bytes } = piece;
  const state = running ? 'Running.' : exitCode === null ? 'Killed.' : `Exit code ${exitCode}.`;
  const more = next < bytes ? ` More from ${next} on.` : '';
  return `${state} Bytes ${from} to ${next} of ${bytes}.${more}\n${text || '(nothing new)'}`;
}

export const startedText = ({ id }: BackgroundCommand): string =>
  `Started in the background as ${id}. CommandOutput {"id": "${id}"} reads what it writes; it ends when Odin does.`;

/** Control and invisible characters made visible: what a person allows is what they see (SAFETY 2.3). */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (char) => `<U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`);
}

/** Everything of the categories control, format, unassigned, private, separator, but the plain space, tab and newline. */
const HIDDEN = /(?![ \t\n])[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f]/gu;

function outputText({ head, tail, omittedBytes, omittedFrom }: CappedOutput, id: string): string {
  if (head === '' && tail === '') return '(no output)';
  if (omittedBytes === 0) return head;
  return `${head}\n[… ${omittedBytes} bytes left out. CommandOutput {"id": "${id}", "from": ${omittedFrom}} reads on.]\n\n${tail}`;
}

const megabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`;
