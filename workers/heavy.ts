// The entry of a heavy thread (SPEC C3): performs one task, tells nobody but its caller. orchestrator/pool.ts loads it by URL.
// The outcome goes back as one JSON string: that is three times cheaper to pass on than thousands of objects.

import type { HeavyRequest } from '../shared/heavy-task.ts';
import type { Outcome } from '../shared/outcome.ts';

export default async function heavy(request: HeavyRequest): Promise<string> {
  const cancel = new AbortController();
  request.cancel.on('message', () => cancel.abort());
  try {
    return JSON.stringify(await perform(request, cancel.signal, () => request.cancel.postMessage('begun')));
  } finally {
    request.cancel.close();
  }
}

async function perform(request: HeavyRequest, signal: AbortSignal, begun: () => void): Promise<Outcome<unknown>> {
  switch (request.kind) {
    case 'grep':
      return (await import('./heavy-grep.ts')).grep(request.input, signal);
    case 'glob':
      return (await import('./heavy-glob.ts')).glob(request.input, signal);
    case 'tokens':
      return (await import('./heavy-tokens.ts')).countAll(request.input, signal);
    case 'page':
      return (await import('./heavy-page.ts')).readPage(request.input, begun);
  }
}
