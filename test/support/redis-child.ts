// A process that holds a private Redis: joins, says so, leaves when it is told to. Its parent talks to it line by line.

import { createInterface } from 'node:readline';
import { connectRedis } from '../../orchestrator/redis.ts';

const home = process.argv[2] ?? '';
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const commands = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
say('ready');
await commands.next();
const handle = await connectRedis({ home, notice: say });
const info = await handle.client.info('server');
say(`server ${/^run_id:(\w+)/m.exec(info)?.[1]}`);
await commands.next();
await handle.close();
say('left');
process.exit(0);
