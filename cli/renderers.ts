// The renderer of this process's own stdout and stderr.

import { paintFor } from './paint.ts';
import { createJsonRenderer } from './render-json.ts';
import { createPlainRenderer, type Renderer } from './render-plain.ts';

export function rendererHere(options: { readonly json: boolean; readonly showPrompts: boolean }): Renderer {
  if (options.json) return createJsonRenderer(process.stdout);
  return createPlainRenderer({
    out: process.stdout,
    err: process.stderr,
    paint: paintFor(process.stderr),
    outIsTerminal: process.stdout.isTTY,
    errIsTerminal: process.stderr.isTTY && process.env.TERM !== 'dumb',
    showPrompts: options.showPrompts,
  });
}
