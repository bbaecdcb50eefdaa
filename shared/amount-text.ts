// Money, counts and times as people read them.

/** $1.20, $0.0042, unknown. */
export function usdText(usd: number | null): string {
  if (usd === null) return 'unknown cost';
  if (usd === 0) return '$0.00';
  if (usd < 0.0001) return '<$0.0001';
  return `$${usd < 0.1 ? usd.toFixed(4).replace(/0{1,2}$/, '') : usd.toFixed(2)}`;
}

/** With commas; toLocaleString would load the whole of ICU for it (12 ms). */
export const countText = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');

/** 30s, 10m, 1h30m. */
export function timeText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60)
    return seconds % 60 === 0 || seconds > 600 ? `${minutes}m` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}
