import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { keys } from '../../orchestrator/keys.ts';
import { identityOf, selfPlace } from '../../orchestrator/process-identity.ts';
import { takeLease } from '../../orchestrator/workspace-lease.ts';
import { startTestRedis } from '../support/redis.ts';

test('DURABILITY 5: an owner that is still dying when the kernel has freed its lock is not waited for as one that lives', async () => {
  const redis = await startTestRedis();
  const dying = spawn('sleep', ['600'], { stdio: 'ignore' });
  try {
    const { client } = redis.handle;
    await once(dying, 'spawn');
    const { owner, pending } = keys.workspace('ws');
    const who = JSON.stringify({ ...identityOf(dying.pid as number), host: selfPlace(), helper: null });
    expect(await client.olease([owner, pending], ['former', who, 1, ''])).toEqual(['ok', 0]);
    const none = () => {};
    const taking = takeLease(client, 'ws', { onDoubt: none, onBack: none, onLost: none, log: none });
    // The answer to its first request is before this one's: it has seen that process alive.
    await client.ping();
    await turnOfTheLoop();
    dying.kill('SIGKILL');
    const taken = await taking;
    expect(taken.status).toBe('ok');
    if (taken.status === 'ok') await taken.lease.drop();
  } finally {
    dying.kill('SIGKILL');
    await redis.close();
  }
});
