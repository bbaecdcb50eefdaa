// Writes docs/odinconfig.schema.json from orchestrator/config-schema.ts. A test fails when it is not current.

import { writeFileSync } from 'node:fs';
import { configJsonSchema } from '../orchestrator/config-schema.ts';

writeFileSync(
  new URL('../docs/odinconfig.schema.json', import.meta.url),
  `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
);
