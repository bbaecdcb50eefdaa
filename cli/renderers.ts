// The renderer of this process's own stdout and stderr.

import type { Odin } from '../orchestrator/api.ts';
import { createAsker, keysFor, type QuestionFeed } from './ask-user.ts';
import { paintFor } from './paint.ts';
import { createJsonRenderer } from './render-json.ts';
import { createPlainRenderer, type Renderer } from './render-plain.ts';

export interface RendererOptions {
  readonly json: boolean;
  readonly showPrompts: boolean;
  /** Answers go to stderr too: stdout has the one that was asked for. */
  readonly isAside?: boolean;
}

export function rendererHere({ json, showPrompts, isAside = false }: RendererOptions): Renderer {
  if (json) return createJsonRenderer(process.stdout);
  const out = isAside ? process.stderr : process.stdout;
  return createPlainRenderer({
    out,
    err: process.stderr,
    paint: paintFor(process.stderr),
    outIsTerminal: out.isTTY,
    errIsTerminal: process.stderr.isTTY && process.env.TERM !== 'dumb',
    showPrompts,
  });
}

/** The same; with `answering`, questions are answered at the terminal by keys. `close` gives the keyboard back. */
export function rendererFor(
  odin: Pick<Odin, 'answer'>,
  { answering, feed, ...options }: RendererOptions & { readonly answering: boolean; readonly feed?: QuestionFeed },
): Renderer & { close(): void } {
  const rest = rendererHere(options);
  if (!answering) return { show: (event) => rest.show(event), close: () => {} };
  const display = options.json ? rendererHere({ json: false, showPrompts: false, isAside: true }) : rest;
  const write = (text: string) => void process.stderr.write(text);
  const asker = createAsker({ odin, display, rest, write, onChange: () => keys.update() });
  const keys = keysFor(process.stdin, () => asker);
  if (feed) feed.asker = asker;
  return {
    show: (event) => asker.show(event),
    close() {
      if (feed) feed.asker = null;
      keys.close();
    },
  };
}
