// Requests to the server that this page came from: the login, changes, and events that go on after a break where they stopped.

const KEY = 'odin-key';

export class Locked extends Error {}

/** Takes the token out of the address, where it must not stay, and exchanges it for a cookie and a key. */
export async function logIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return;
  history.replaceState(null, '', `${location.pathname}#/`);
  const response = await fetch('/api/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  // A used link may be opened again by a browser that is logged in.
  if (response.ok) localStorage.setItem(KEY, (await response.json()).key);
}

const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const newId = () => [...crypto.getRandomValues(new Uint8Array(26))].map((byte) => LETTERS[byte & 31]).join('');

const headers = () => ({ 'x-odin-key': localStorage.getItem(KEY) ?? '' });

/** What the server answers; throws with its one line when it refuses. */
export async function ask(path, body) {
  const response = await fetch(
    path,
    body === undefined
      ? { headers: headers() }
      : { method: 'POST', headers: { ...headers(), 'content-type': 'application/json' }, body: JSON.stringify(body) },
  );
  if (response.status === 401) throw new Locked();
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** The same for an answer that is no JSON. */
export async function askText(path) {
  const response = await fetch(path, { headers: headers() });
  if (response.status === 401) throw new Locked('This page is locked.');
  if (!response.ok) throw new Error((await response.json()).error);
  return response.text();
}

/**
 * Follows a stream of events until the signal aborts. It comes again after every break and names the last event that it has.
 * `on.event(type, data)`; `on.state('live' | 'away' | 'locked')`. With `on.rests` it does so only while the page is in sight.
 */
export async function follow(path, on, signal) {
  let lastId = '';
  let waitMs = 250;
  while (!signal.aborted) {
    const pause = new AbortController();
    const hide = () => document.hidden && pause.abort();
    try {
      if (on.rests) {
        await inSight(signal);
        document.addEventListener('visibilitychange', hide);
      }
      const resume = lastId === '' ? {} : { 'last-event-id': lastId };
      const until = AbortSignal.any([signal, pause.signal]);
      const response = await fetch(path, { headers: { ...headers(), ...resume }, signal: until });
      if (response.status === 401) {
        on.state('locked');
        return;
      }
      if (response.ok) {
        on.state('live');
        waitMs = 250;
        for await (const { type, data, id } of messages(response.body)) {
          on.event(type, JSON.parse(data));
          if (id !== '') lastId = id;
        }
      }
    } catch {
      // The line broke; it is tried again.
    }
    document.removeEventListener('visibilitychange', hide);
    if (signal.aborted) return;
    if (pause.signal.aborted) continue;
    on.state('away');
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(waitMs * 2, 4000);
  }
}

/** Resolves while the page is in sight. */
function inSight(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

/** The whole messages of an event stream. One that is cut off is none. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const message = { type: 'message', data: '', id: '' };
      for (const line of part.split('\n')) {
        if (line.startsWith('event: ')) message.type = line.slice(7);
        else if (line.startsWith('id: ')) message.id = line.slice(4);
        else if (line.startsWith('data: ')) message.data += line.slice(6);
      }
      if (message.data !== '') yield message;
    }
  }
}
