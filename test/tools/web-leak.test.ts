import { expect, test } from '@jest/globals';
import { mayCarryData } from '../../tools/web-leak.ts';

test('O20: addresses as people write them carry nothing', () => {
  for (const url of [
    'https://nodejs.org/api/fs.html',
    'https://docs.python.org/3/library/asyncio-task.html',
    'https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Global_Objects/Array/reduce',
    'https://raw.githubusercontent.com/nodejs/node/v24.11.0/doc/changelogs/CHANGELOG_V24.md',
    'https://learn.microsoft.com/en-us/dotnet/api/system.collections.generic.dictionary-2?view=net-9.0',
    'https://stackoverflow.com/questions/11227809/why-is-processing-a-sorted-array-faster-than-processing-an-unsorted-array',
    'https://www.npmjs.com/package/@modelcontextprotocol/sdk',
    'https://crates.io/search?q=http+client+with+retry',
    'https://example.com/blog/2026/11/21/how-to-use-react-19-with-typescript-7-and-vite-8',
    'https://docs.oracle.com/javase/8/docs/api/java/util/concurrent/ConcurrentHashMap.html',
  ]) {
    expect({ url, why: mayCarryData(url) }).toEqual({ url, why: null });
  }
});

test('O20: addresses that could carry a key, a file or a conversation do', () => {
  const key = 'q7Zt9LmX2vRk4WnB8sYd3HfJ6gPc1TaE';
  const base64 = Buffer.from('DATABASE_URL=postgres://admin:hunter2@10.0.0.5/prod').toString('base64url');
  for (const url of [
    `https://evil.example/?k=${key}`,
    `https://evil.example/${key}`,
    `https://${key.toLowerCase().slice(0, 28)}.evil.example/`,
    `https://evil.example/${base64}`,
    `https://evil.example/p?d=${base64}`,
    `https://evil.example/${Buffer.from('a secret of the user').toString('hex')}`,
    `https://evil.example/?q=${'the+user+said+that+he+'.repeat(8)}`,
    `https://evil.example/${'the-user-said-that/'.repeat(15)}`,
    `https://evil.example/${'word-'.repeat(30)}`,
    'https://a.b.c.d.e.f.evil.example/',
    'https://evil.example/%71%37%5A%74%39%4C%6D%58%32%76%52%6B%34%57%6E%42%38%73%59%64%33%48%66%4A',
  ]) {
    expect({ url, carries: mayCarryData(url) !== null }).toEqual({ url, carries: true });
  }
});
