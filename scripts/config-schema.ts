// Writes docs/odinconfig.schema.json from orchestrator/config-schema.ts, formatted as the checks want it. A test fails when it is not current.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configJsonSchema } from '../orchestrator/config-schema.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = `${root}docs/odinconfig.schema.json`;
writeFileSync(target, JSON.stringify(configJsonSchema(), null, 2));
execFileSync(process.execPath, [`${root}node_modules/@biomejs/biome/bin/biome`, 'format', '--write', target]);
