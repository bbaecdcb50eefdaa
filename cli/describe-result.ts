// What came of a call in a few words. The call stands before it on the same line, so what repeats it is left out; a description in a
// shape not known here is kept whole.

const SHAPES: readonly RegExp[] = [
  /^Found (.+?) for /,
  /^Listed .* \((\d+ entries)\)$/,
  /^Read .* \(([^()]+)\)$/,
  /^Read .*? (lines \S+ of \d+)$/,
];

export function describeResult(description: string): string {
  for (const shape of SHAPES) {
    const short = shape.exec(description)?.[1];
    if (short !== undefined) return short;
  }
  return description;
}
