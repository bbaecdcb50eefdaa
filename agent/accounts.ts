// What an event adds to the accounts (SPEC E16): planner's answers, broken-off answers, calls of the lesser model. state.ts folds it, so a
// resumed message has spent what it had spent. What nobody counted is estimated, and says so; it is never counted as nothing.

import { isLongPrompt } from '../llm/model-info.ts';
import type { EventOf, JournalEvent } from '../shared/events.ts';
import { NO_USAGE, type Usage } from '../shared/messages.ts';
import { addCall, NOTHING_SPENT, type Spending } from '../shared/spending.ts';
import type { OpenRequest, State } from '../shared/state.ts';

export interface Accounts {
  readonly spending: Spending;
  readonly request: OpenRequest | null;
}

/** The accounts after one more event; the same object when it changes nothing. */
export function foldAccounts(accounts: Accounts, event: JournalEvent): Accounts {
  const { spending, request } = accounts;
  switch (event.type) {
    case 'llm.req': {
      const { op, model, estimate = 0 } = event;
      return { spending: withLost(accounts), request: { op, model, estimate } };
    }
    case 'llm.res':
      return {
        spending: add(spending, request?.model ?? event.model, event.usage, event.estimated === true),
        request: null,
      };
    case 'llm.fail':
      return { spending: withFailed(accounts, event), request: null };
    case 'aux.used':
      return { ...accounts, spending: add(spending, event.model, event.usage, event.estimated === true) };
    case 'msg.done':
      return request === null ? accounts : { spending: withLost(accounts), request: null };
    default:
      return accounts;
  }
}

/** What a message has spent when it ends now, by what its end will add. */
export function spentBy(state: State, seq: number): Spending {
  const message = state.messages.find((one) => one.seq === seq);
  return message === undefined ? NOTHING_SPENT : withLost({ spending: message.spending, request: state.request });
}

/** Failures after which the provider had read the prompt. */
const READ_THE_PROMPT: ReadonlySet<string> = new Set(['cut_stream', 'stalled_stream', 'step_timeout', 'cancelled']);

/** What the provider had counted when the answer broke off; else, if it had begun to answer, at least the prompt. */
function withFailed(accounts: Accounts, { failure, usage }: EventOf<'llm.fail'>): Spending {
  if (usage !== undefined && accounts.request !== null) {
    return add(accounts.spending, accounts.request.model, usage, true);
  }
  return READ_THE_PROMPT.has(failure.code) ? withLost(accounts) : accounts.spending;
}

/** A request whose answer nobody saw, such as the one that was under way in a crash: its prompt was read all the same. */
function withLost({ spending, request }: Accounts): Spending {
  if (request === null || request.estimate === 0) return spending;
  return add(spending, request.model, { ...NO_USAGE, input: request.estimate }, true);
}

const add = (spending: Spending, model: string, usage: Usage, isEstimated: boolean): Spending =>
  addCall(spending, { model, usage, isEstimated, isLong: isLongPrompt(model, usage.input) });
