// The lines around the conversation and the editor: the head, what goes on and what waits, and the status below.

import type { Component } from '@earendil-works/pi-tui';
import { cleanLine } from '../../shared/clean-text.ts';
import type { QueuedMessage } from '../../shared/state.ts';
import { guard } from './components/lines.ts';
import { agentLines, queueLines, todoLines } from './components/side-lists.ts';
import { activityLine, type Standing, statusLine } from './components/status-line.ts';
import type { Theme } from './theme.ts';
import type { View } from './view.ts';

export interface FrameDeps {
  readonly version: string;
  readonly cwd: string;
  theme(): Theme;
  view(): View;
  queue(): readonly QueuedMessage[];
  standing(): Standing;
}

export function createFrame({ version, cwd, theme, view, queue, standing }: FrameDeps): {
  readonly header: Component;
  readonly side: Component;
  readonly status: Component;
} {
  return {
    header: lines((width) => [
      guard(` ${theme().bold('Odin')} ${theme().dim(version)}  ${theme().dim(cleanLine(cwd))}`, width),
      guard(theme().dim(' /help shows what can be typed · @ names a file · ! runs a command'), width),
      '',
    ]),
    side: lines((width) => {
      const { todos, agents, running } = view();
      const activity = activityLine(view(), theme(), width, Date.now());
      const team = running === null ? [] : agentLines(agents, theme(), width);
      const above = [
        ...todoLines(todos, theme(), width, running !== null),
        ...team,
        ...(activity === '' ? [] : [activity]),
      ];
      return [...above, ...queueLines(queue(), theme(), width)];
    }),
    status: lines((width) => [statusLine(view(), standing(), theme(), width)]),
  };
}

const lines = (render: (width: number) => string[]): Component => ({ render, invalidate: () => {} });
