// The stat tuple of a file, a hint that it is unchanged (DURABILITY 12). A stamp taken within 20 ms of the file's last change is
// racy: an older kernel's clock can give a later change of the same size the same tuple. A racy stamp proves nothing; hash again.

import type { BigIntStats } from 'node:fs';

export interface FileStamp {
  readonly size: bigint;
  readonly ino: bigint;
  readonly dev: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly racy: boolean;
}

const RACY_NS = 20_000_000n;

/** `readAtMs`: the wall clock before the content was read. */
export function stampOf(stats: BigIntStats, readAtMs: number): FileStamp {
  const { size, ino, dev, mtimeNs, ctimeNs } = stats;
  const changed = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
  return { size, ino, dev, mtimeNs, ctimeNs, racy: BigInt(readAtMs) * 1_000_000n - changed < RACY_NS };
}

export const sameStamp = (stamp: FileStamp, stats: BigIntStats): boolean =>
  stamp.mtimeNs === stats.mtimeNs &&
  stamp.ctimeNs === stats.ctimeNs &&
  stamp.size === stats.size &&
  stamp.ino === stats.ino &&
  stamp.dev === stats.dev;
