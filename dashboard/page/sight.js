// Which rows of the list are in sight. Only these are drawn anew, and the server is told of them, so that it reads these first; with the
// page itself out of sight, none are.

import { ask } from './net.js';

const TELL_MS = 1000;

/** `cameInSight(sid)` is called for each row that does. */
export function createSight(view, cameInSight) {
  const names = new WeakMap();
  const inSight = new Set();
  let told = '';
  let due = null;

  const tell = async () => {
    const away = document.hidden;
    const message = { view, sids: away ? [] : [...inSight].slice(0, 100), away };
    const text = JSON.stringify(message);
    if (text === told) return;
    told = text;
    // Who was not told now is told with the next change.
    await ask('/api/view', message).catch(() => {
      told = '';
    });
  };
  // One after the other: what is said last must be what the server hears last.
  let telling = Promise.resolve();
  const tellNow = () => {
    due = null;
    telling = telling.then(tell);
  };
  const later = () => {
    due ??= setTimeout(tellNow, TELL_MS);
  };
  document.addEventListener('visibilitychange', tellNow);

  const observer = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      const sid = names.get(target);
      if (!isIntersecting) inSight.delete(sid);
      else if (!inSight.has(sid)) {
        inSight.add(sid);
        cameInSight(sid);
      }
    }
    later();
  });

  return {
    has: (sid) => inSight.has(sid),
    add(sid, element) {
      names.set(element, sid);
      observer.observe(element);
    },
    remove(sid, element) {
      observer.unobserve(element);
      inSight.delete(sid);
      later();
    },
    /** The server may be another one now. */
    tellAgain() {
      told = '';
      later();
    },
  };
}
