import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanLine, cleanText, StreamCleaner } from '../../shared/clean-text.ts';

const ESC = '\u001b';

describe('SAFETY T7: text is made safe for a terminal', () => {
  test.each([
    ['plain text, tabs and newlines stay', 'a\tb\nc – ü 漢 🙂', 'a\tb\nc – ü 漢 🙂'],
    ['colours and cursor moves go', `${ESC}[31mred${ESC}[0m ${ESC}[2J${ESC}[1;1Hx`, 'red x'],
    ['8-bit CSI goes', 'a\u009b31mb', 'ab'],
    ['a window title (OSC, ended by BEL) goes', `${ESC}]0;owned\u0007after`, 'after'],
    ['a clipboard write (OSC 52, ended by ST) goes', `x${ESC}]52;c;ZXZpbA==${ESC}\\y`, 'xy'],
    ['a link keeps its text alone', `${ESC}]8;;http://evil${ESC}\\click${ESC}]8;;${ESC}\\`, 'click'],
    ['DCS, APC, PM and SOS go', `${ESC}Pq#0${ESC}\\a${ESC}_x${ESC}\\b${ESC}^y${ESC}\\c${ESC}Xz${ESC}\\d`, 'abcd'],
    ['8-bit OSC and DCS go', 'a\u009d0;t\u009cb\u0090q\u009cc', 'abc'],
    ['short escapes go', `${ESC}c${ESC}(B${ESC}7x${ESC}=`, 'x'],
    ['a sequence without an end hides nothing', `${ESC}]0;the rest\nof it`, '\ufffd]0;the rest\nof it'],
    ['carriage returns cannot overwrite a line', 'safe\rrm -rf\r\nnext', 'safe\nrm -rf\nnext'],
    ['what stood around a sequence does not join', `a\r${ESC}[0m\nb \ud83d${ESC}[0m\ude42`, 'a\n\nb \ufffd\ufffd'],
    ['backspace, NUL, BEL and DEL are seen', 'a\b\0\u0007\u007fb', 'a\ufffd\ufffd\ufffd\ufffdb'],
    ['other C1 are seen', 'a\u0085b', 'a\ufffdb'],
    ['bidirectional overrides are seen', 'a\u202eb\u2066c', 'a<U+202E>b<U+2066>c'],
    ['zero-width characters are seen', 'a\u200bb\ufeffc', 'a<U+200B>b<U+FEFF>c'],
    ['tag characters are seen', 'a\u{e0041}', 'a<U+E0041>'],
    ['half a surrogate pair is seen', 'a\ud83db', 'a\ufffdb'],
    ['an escape inside an escape does not survive', `${ESC}${ESC}[31m[32mx`, '\ufffd[32mx'],
  ])('%s', (_title, given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  const nasty = fc
    .array(
      fc.constantFrom(
        ESC,
        '[',
        ']',
        '31m',
        'P',
        '\\',
        '\u0007',
        '\u009b',
        '\u009c',
        '\u009d',
        '\r',
        '\n',
        'a',
        '\u202e',
        '\ud83d',
        '\ude42',
        'ü',
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(''));

  test('whatever comes in, no control character comes out, and cleaning again changes nothing', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const clean = cleanText(text);
        expect(clean).not.toMatch(/[^\P{Cc}\t\n]/u);
        expect(clean).not.toMatch(/\p{Cs}/u);
        expect(cleanText(clean)).toBe(clean);
      }),
      { numRuns: 2000 },
    );
  });

  test('a stream cut anywhere comes out as the whole text does', () => {
    fc.assert(
      fc.property(nasty, fc.array(fc.nat(30), { maxLength: 6 }), (text, cuts) => {
        const places = [0, ...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length];
        const cleaner = new StreamCleaner();
        const pieces = places.slice(1).map((end, i) => cleaner.push(text.slice(places[i], end)));
        expect(pieces.join('') + cleaner.end()).toBe(cleanText(text));
      }),
      { numRuns: 2000 },
    );
  });

  test('one line is one line, cut by characters and not through them', () => {
    expect(cleanLine(`  a\n\n b${ESC}[1m\tc `)).toBe('a b c');
    expect(cleanLine('🙂🙂🙂🙂', 3)).toBe('🙂🙂…');
  });
});
