// Runs under a limit on the size of files: writes more than that and prints the outcome.

import { createFiles } from '../../orchestrator/files/files.ts';
import { memoryBlobs } from './files-bench.ts';

const [, , root = '', path = ''] = process.argv;
const port = createFiles({ root, blobs: memoryBlobs() }).portFor();
await port.read(path);
console.log(JSON.stringify(await port.write(path, 'x'.repeat(200_000), async () => {})));
