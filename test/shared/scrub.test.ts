// The text scrubber against the known forms of secrets and against ordinary text.

import { expect, test } from '@jest/globals';
import { createScrub, scrubJson } from '../../shared/scrub.ts';

const scrub = createScrub({
  MY_SERVICE_TOKEN: 'hunter2-hunter2-hunter2',
  HOME: '/home/someone-with-a-long-name',
  SHORT_KEY: 'abc',
});
const join = (...parts: string[]) => parts.join('');

test.each([
  ['an API key', join('sk', '-ant-api03-', 'a'.repeat(40))],
  ['a GitHub token', join('ghp', '_', 'A1b2'.repeat(9))],
  ['an AWS key', join('AKIA', 'ABCDEFGHIJKLMNOP')],
  ['a Slack token', join('xox', 'b-123456789012-abcdef')],
  ['a JWT', join('eyJ', 'hbGciOiJIUzI1NiJ9', '.eyJ', 'zdWIiOiIxMjM0NTY3ODkwIn0', '.', 'abcdefghijklmnop')],
  ['a private key', join('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIE\nabc\n-----END RSA ', 'PRIVATE KEY-----')],
  ['the value of a secret variable', 'hunter2-hunter2-hunter2'],
])('G6: %s does not get through', (_, secret) => {
  const clean = scrub(`before ${secret} after`);
  expect(clean).not.toContain(secret);
  expect(clean).toMatch(/^before \[redacted:[a-z-]+\] after$/);
});

test('G6: the password of a URL is taken out and the rest of it stays', () => {
  expect(scrub('redis://user:s3cretpass@host:6379/0')).toBe('redis://user:[redacted:url-password]@host:6379/0');
});

test('G6: ordinary text, paths and short values stay as they are', () => {
  const text = 'see https://example.com:8080/a@b, task-sk-1, abc, /home/someone-with-a-long-name, bearer of news';
  expect(scrub(text)).toBe(text);
});

test('G6: strings at any depth of a value are scrubbed', () => {
  const key = join('sk', '-', 'x'.repeat(30));
  expect(JSON.stringify(scrubJson({ a: [{ b: `k=${key}` }], n: 1 }, scrub))).not.toContain(key);
});
