// The renderer of this process's own stdout and stderr.

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
