// Subagents in the plain stream (SPEC O25): a line when one begins and when it ends, and who does what now as the status line. What they
// do in between is for `odin agents show` and the full-screen view.

import { usdText } from '../shared/amount-text.ts';
import { cleanLine } from '../shared/clean-text.ts';
import type { StreamEvent } from '../shared/stream-events.ts';
import type { Paint } from './paint.ts';
import type { Screen } from './screen.ts';

interface AtWork {
  readonly title: string;
  readonly step: number;
  readonly doing: string;
}

/** Agents named in the status line. */
const SHOWN = 3;

export function createAgentLines({ screen, paint }: { readonly screen: Screen; readonly paint: Paint }) {
  const atWork = new Map<string, AtWork>();

  const status = (): void => {
    if (atWork.size === 0) return;
    const named = [...atWork.values()].slice(0, SHOWN).map(({ title, step, doing }) => `${title} ${step}: ${doing}`);
    const more = atWork.size > SHOWN ? `; and ${atWork.size - SHOWN} more` : '';
    screen.status(`${atWork.size} ${atWork.size === 1 ? 'agent' : 'agents'} · ${named.join('; ')}${more}`);
  };

  /** Takes an event of a subagent; false when it is to be shown like any other. */
  const show = (event: StreamEvent): boolean => {
    if (event.agent === undefined || event.type === 'PermissionAsked') return false;
    switch (event.type) {
      case 'AgentSpawned': {
        const title = cleanLine(event.title, 80);
        atWork.set(event.agent, { title, step: 0, doing: 'starting' });
        const how = [
          `${event.mode} mode`,
          ...(event.kind === null ? [] : [event.kind]),
          ...(event.background ? ['background'] : []),
        ];
        screen.line(
          `${paint('cyan', '◇')} ${title} ${paint('dim', `(agent ${event.agent}, ${cleanLine(how.join(', '))})`)}`,
        );
        break;
      }
      case 'AgentPlaced': {
        const { agent, worker } = event;
        const title = cleanLine(event.title, 80);
        atWork.set(agent, { title, step: 0, doing: 'starting' });
        if (worker !== null)
          screen.line(
            `${paint('cyan', '◇')} ${title} ${paint('dim', `(agent ${agent}) is with worker ${cleanLine(worker, 60)}`)}`,
          );
        else
          screen.line(
            `${paint('yellow', '◇')} ${title} ${paint('dim', `(agent ${agent}) works here: ${cleanLine(event.why, 200)}`)}`,
          );
        break;
      }
      case 'AgentProgress': {
        const title = atWork.get(event.agent)?.title ?? event.agent;
        atWork.set(event.agent, { title, step: event.step, doing: cleanLine(event.doing, 40) });
        break;
      }
      case 'AgentEnded': {
        atWork.delete(event.agent);
        const end = event.limit === null ? event.end : `${event.end} (${event.limit})`;
        const cost = event.costUsd === null ? '' : `, ${usdText(event.costUsd)}`;
        const seconds = (event.durationMs / 1000).toFixed(1);
        const used = `${event.steps} ${event.steps === 1 ? 'step' : 'steps'}, ${seconds} s${cost}`;
        const colour = event.end === 'completed' ? 'green' : 'yellow';
        screen.line(
          `${paint(colour, '◆')} ${cleanLine(event.title, 80)} → ${end} ${paint('dim', `(agent ${event.agent}, ${used})`)}`,
        );
        break;
      }
      case 'PermissionAnswered':
        return false;
      default:
        return true;
    }
    status();
    return true;
  };
  return { show };
}
