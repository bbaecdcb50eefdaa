// About how many tokens a text has, at some 100 MB/s and without a vocabulary. Counts what o200k's splitting rule sees (words, runs of digits
// and signs, gaps, letters of other scripts) and weighs each; the weights are a least-squares fit to real o200k counts over code, Markdown,
// lock files, logs, diffs, listings, hashes and fifteen languages: the mean error is 10 % in the worst of them, where "four characters a
// token" is wrong by a factor of two to three. What a model makes of it beyond that is its factor's business (token-estimate.ts).

const SIGN = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const NEWLINE = 5;
const FOREIGN = 6;

const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => classOf(String.fromCharCode(code)));

/** Tokens for each thing that is counted. A line's end costs nothing of its own: it goes with what stands before it. */
const WEIGHT = {
  lowerWord: 0.865,
  upperWord: 1.377,
  letter: 0.023,
  number: 0.909,
  threeDigits: 0.666,
  space: 0.173,
  gap: 1.521,
  signs: 0.625,
  sign: 0.14,
} as const;

/** About how many o200k tokens a text has. */
export function countTokens(text: string): number {
  let [lowerWords, upperWords, letters, numbers, threes, spaces, gaps, signRuns, signs] = [0, 0, 0, 0, 0, 0, 0, 0, 0];
  let foreign = 0;
  let before = FOREIGN;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) {
      before = FOREIGN;
      foreign += foreignWeight(code);
      continue;
    }
    const kind = CLASSES[code] ?? SIGN;
    if (kind === before) {
      run++;
      if (kind === LOWER || kind === UPPER) letters++;
      else if (kind === SIGN) signs++;
      else if (kind === SPACE) gaps += run === 2 ? 1 : 0;
      else if (kind === DIGIT) threes += run % 3 === 1 ? 1 : 0;
      continue;
    }
    run = 1;
    if (kind === LOWER && before === UPPER) letters++;
    else if (kind === LOWER) lowerWords++;
    else if (kind === UPPER) upperWords++;
    else if (kind === SPACE) spaces++;
    else if (kind === SIGN) signRuns++;
    else if (kind === DIGIT) {
      numbers++;
      threes++;
    }
    before = kind;
  }
  return (
    lowerWords * WEIGHT.lowerWord +
    upperWords * WEIGHT.upperWord +
    letters * WEIGHT.letter +
    numbers * WEIGHT.number +
    threes * WEIGHT.threeDigits +
    spaces * WEIGHT.space +
    gaps * WEIGHT.gap +
    signRuns * WEIGHT.signs +
    signs * WEIGHT.sign +
    foreign
  );
}

function foreignWeight(code: number): number {
  if (code < 0x250) return 0.696; // Latin with accents: breaks the word it stands in.
  if (code < 0x530) return 0.306; // Greek, Cyrillic
  if (code >= 0x3040 && code <= 0x30ff) return 0.749; // Kana
  if (code >= 0x2e80 && code <= 0x9fff) return 0.86; // Chinese characters
  if (code >= 0xac00 && code <= 0xd7af) return 0.612; // Hangul
  return 0.379;
}

function classOf(char: string): number {
  if (/[a-z]/.test(char)) return LOWER;
  if (/[A-Z]/.test(char)) return UPPER;
  if (/[0-9]/.test(char)) return DIGIT;
  if (/[ \t]/.test(char)) return SPACE;
  return /[\r\n]/.test(char) ? NEWLINE : SIGN;
}
