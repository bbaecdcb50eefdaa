// What a process on an island has beside it (netns.ts): the way to Redis, under the same address as outside, since Odin speaks to none
// across a network without TLS; and a model of its own, so that who is cut off could go on. Prints the model's URL.

import { connect, createServer, type Socket } from 'node:net';
import { startScriptedServer } from '../../llm/scripted/server.ts';
import { stepsOf } from './netns-steps.ts';

const [gateway = '', port = ''] = process.argv.slice(2);
const server = createServer((near: Socket) => {
  const far = connect(Number(port), gateway);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => {});
    one.on('close', () => other.destroy());
    one.pipe(other);
  }
});
server.listen(Number(port), '127.0.0.1');
const model = await startScriptedServer({ script: stepsOf, keepBodies: false });
process.stdout.write(`${model.url}\n`);
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));
