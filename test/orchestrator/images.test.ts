// Pictures of messages: what is one, and how one gets from a file over the journal into the requests of all three APIs.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { pathsIn } from '../../cli/message-images.ts';
import { imageIn } from '../../orchestrator/images.ts';
import { UserError } from '../../shared/outcome.ts';
import { withWorld } from '../support/odin-world.ts';

/** A header is all that is looked at. */
function pngOf(width: number, height: number): Buffer {
  const head = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([head, size, Buffer.from('0806000000', 'hex'), deflateSync(Buffer.alloc(64))]);
}

const bytesOf = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

test('G1: what a picture is its first bytes say, whatever its name: PNG, JPEG, GIF and the three kinds of WebP, with their sizes', () => {
  expect(imageIn(pngOf(800, 600))).toEqual({ mediaType: 'image/png', width: 800, height: 600 });
  expect(imageIn(bytesOf('GIF89a', [0x20, 0x03, 0x58, 0x02]))).toMatchObject({
    mediaType: 'image/gif',
    width: 800,
    height: 600,
  });
  const app0 = [0xff, 0xe0, 0x00, 0x04, 0x00, 0x00];
  const frame = [0xff, 0xc2, 0x00, 0x0b, 0x08, 0x02, 0x58, 0x03, 0x20, 0x01, 0, 0, 0];
  expect(imageIn(bytesOf([0xff, 0xd8], app0, [0xff], frame))).toEqual({
    mediaType: 'image/jpeg',
    width: 800,
    height: 600,
  });
  const riff = ['RIFF', [0, 0, 0, 0], 'WEBP'] as const;
  const padding = Array.from({ length: 20 }, () => 0);
  expect(
    imageIn(bytesOf(...riff, 'VP8X', [0, 0, 0, 0, 0, 0, 0, 0], [0x1f, 0x03, 0], [0x57, 0x02, 0], padding)),
  ).toEqual({
    mediaType: 'image/webp',
    width: 800,
    height: 600,
  });
  const lossless = 799 | (599 << 14);
  const bits = [lossless & 255, (lossless >> 8) & 255, (lossless >> 16) & 255, (lossless >> 24) & 255];
  expect(imageIn(bytesOf(...riff, 'VP8L', [0, 0, 0, 0, 0x2f], bits, padding))).toMatchObject({
    width: 800,
    height: 600,
  });
  const lossy = [0, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 0x20, 0x03, 0x58, 0x02];
  expect(imageIn(bytesOf(...riff, 'VP8 ', lossy, padding))).toMatchObject({ width: 800, height: 600 });
  for (const wrong of [
    '',
    'GIF89a',
    '<svg/>',
    'RIFF',
    '\u00ff\u00d8\u00ff',
    'a text that is long enough for every header'.repeat(3),
  ]) {
    expect(imageIn(bytesOf(wrong))).toBeNull();
  }
  // A segment without an end, and one of no length, end the search.
  expect(imageIn(bytesOf([0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff], padding))).toBeNull();
  expect(
    imageIn(
      bytesOf(
        [0xff, 0xd8, 0xff, 0xe0, 0x00, 0x00],
        Array.from({ length: 40 }, () => 0),
      ),
    ),
  ).toBeNull();
});

test('G1: a message names pictures by @, by a path that was dropped on the terminal, or by a file: URL; a name in a sentence or a path in a long text is none', () => {
  const named = (text: string) => pathsIn(text).map(({ path, isMeant }) => `${isMeant ? '@' : ''}${path}`);
  expect(named('see @a.png, @b/c.JPG. And rename logo.png')).toEqual(['@a.png', '@b/c.JPG']);
  expect(named(`/tmp/a.png ${'x'.repeat(1_000)} @b.png`)).toEqual(['@b.png']);
  expect(named(`'/tmp/my shot.png' "/tmp/other one.gif" /tmp/with\\ blank.webp`)).toEqual([
    '/tmp/my shot.png',
    '/tmp/other one.gif',
    '/tmp/with blank.webp',
  ]);
  expect(named('file:///tmp/a%20b.png @"two words.png"')).toEqual(['/tmp/a b.png', '@two words.png']);
  expect(named('file://elsewhere/a.png @file:///tmp/a%2Fb.png')).toEqual(['@file:///tmp/a%2Fb.png']);
  expect(named('no png here, a.pngx and png.txt')).toEqual([]);
});

test('G1, E16: a picture is in the blob store and the journal by its hash and goes with every request of the session, in all three dialects; a model that takes none is told its name', async () => {
  await withWorld(
    {
      script: ({ userText }) => ({ text: `Seen <${userText.split('\n\n<')[0]}>` }),
      userConfig: { models: { 'chat/sees': { images: true } } },
    },
    async (world) => {
      const shot = pngOf(800, 600);
      const base64 = shot.toString('base64');
      writeFileSync(join(world.project, 'shot.png'), shot);
      writeFileSync(join(world.project, 'fake.png'), 'no picture at all, though its name says so');
      writeFileSync(join(world.project, 'wide.png'), pngOf(9_000, 10));
      writeFileSync(join(world.project, 'large.png'), Buffer.concat([shot, Buffer.alloc(4_000_000)]));
      const odin = await world.open({
        providers: {
          chat: { kind: 'openai-chat', baseURL: `${world.server.url}/v1` },
          responses: { kind: 'openai', baseURL: `${world.server.url}/v1` },
        },
      });
      const at = (name: string) => join(world.project, name);
      const opus = 'anthropic/claude-opus-5-5';
      await expect(odin.keepImage(at('none.png'), opus)).rejects.toThrow(/cannot be read \(ENOENT\)/);
      await expect(odin.keepImage(at('fake.png'), opus)).rejects.toThrow(/is no PNG, JPEG, GIF or WebP/);
      await expect(odin.keepImage(at('wide.png'), opus)).rejects.toThrow(/is 9000×10/);
      await expect(odin.keepImage(at('large.png'), opus)).rejects.toThrow(/has 4\.0 MB/);
      await expect(odin.keepImage(world.project, opus)).rejects.toThrow(/is no file/);
      await expect(odin.keepImage(at('shot.png'), 'chat/scripted')).rejects.toThrow(UserError);
      const image = await odin.keepImage(at('shot.png'), opus);
      expect(image).toMatchObject({
        name: 'shot.png',
        mediaType: 'image/png',
        width: 800,
        height: 600,
        bytes: shot.length,
      });

      const sid = odin.newSession();
      const models = ['anthropic/claude-opus-5-5', 'responses/gpt-5.5', 'chat/sees', 'chat/blind'];
      const bodies: string[] = [];
      for (const [i, model] of models.entries()) {
        const events = await world.ask(odin, sid, {
          mode: 'ask',
          body: `question ${i}`,
          model,
          smallModel: model,
          ...(i === 0 ? { images: [image] } : {}),
        });
        expect(events.at(-1)).toMatchObject({ type: 'AgentDone', status: 'completed' });
        bodies.push(world.server.requests.at(-1)?.body ?? '');
      }
      const [anthropic = '', responses = '', chat = '', blind = ''] = bodies;
      const parsed = (body: string) => JSON.parse(body) as Record<string, { content: unknown }[]>;
      expect(parsed(anthropic)['messages']?.[0]?.content).toMatchObject([
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        { type: 'text', text: expect.stringMatching(/^\[picture 1 of this message: shot\.png, 800×600\]\nquestion 0/) },
      ]);
      expect(parsed(responses)['input']?.[0]?.content).toMatchObject([
        { type: 'input_image', image_url: `data:image/png;base64,${base64}` },
        { type: 'input_text' },
      ]);
      expect(parsed(chat)['messages']?.[1]?.content).toMatchObject([
        { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
        { type: 'text' },
      ]);
      expect(blind).not.toContain(base64);
      expect(blind).toContain('[picture shot.png, 800×600: not sent]');

      const journal: string[] = [];
      for await (const line of odin.export(sid)) journal.push(JSON.stringify(line));
      const start = journal.find((line) => line.includes('"msg.start"')) ?? '';
      expect(start).toContain(`"sha256":"${image.sha256}","bytes":${image.bytes}`);
      expect(journal.join('\n')).not.toContain(base64);
      expect(await odin.fsck(false)).toMatchObject({ clean: true });

      // Another process goes on from the journal alone.
      await odin.close();
      const next = await world.open();
      await world.ask(next, sid, { mode: 'ask', body: 'once more', model: opus, smallModel: opus });
      expect(world.server.requests.at(-1)?.body).toContain(base64);
      await expect(
        next.submit(sid, { mode: 'ask', body: 'x', images: Array.from({ length: 11 }, () => image) }),
      ).rejects.toThrow(/at most 10/);
    },
  );
});
