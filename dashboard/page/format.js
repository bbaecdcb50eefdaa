// Numbers and times for people.

export const tokens = (n) =>
  n < 1000 ? `${n}` : n < 1e6 ? `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`;

export const money = (usd) =>
  usd === null || usd === undefined ? '–' : `$${usd < 1 ? usd.toFixed(4) : usd.toFixed(2)}`;

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(1)} s`;
  return s < 3600
    ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
    : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export function ago(ms, now = Date.now()) {
  const s = Math.max(0, (now - ms) / 1000);
  if (s < 60) return 'just now';
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  return s < 86_400 ? `${Math.floor(s / 3600)} h ago` : new Date(ms).toLocaleDateString();
}

export const clock = (ms) => new Date(ms).toLocaleTimeString();

/** What follows the provider's name. */
export const modelName = (model) => (model === null ? '–' : model.slice(model.indexOf('/') + 1));

export const phaseName = (phase) => phase.replaceAll('_', ' ');

export const oneLine = (text, max = 160) => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
};
