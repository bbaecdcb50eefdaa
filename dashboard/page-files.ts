// The page's files, as they lie in page/: read when the server starts, so that nothing of a request ever names a file.

import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export function addPageFiles(app: FastifyInstance): void {
  const folder = new URL('./page/', import.meta.url);
  for (const name of readdirSync(fileURLToPath(folder))) {
    const content = readFileSync(new URL(name, folder));
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    app.get(name === 'index.html' ? '/' : `/${name}`, { config: { access: 'open' } }, (_request, reply) =>
      reply.type(type).send(content),
    );
  }
}
