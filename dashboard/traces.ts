// Traces for OpenTelemetry (SPEC E16), made of the journals' events: one for each message, with a span for the message, each request, each
// call and each subagent, whichever process or thread did it. Their ids come from session, message and operation alone, so nothing is
// passed along between processes, and whoever makes them again makes the same. Times, models, tokens and names of tools; no texts.

import type { JournalEvent, Journaled } from '../shared/events.ts';
import { sha256 } from '../shared/ids.ts';
import type { Json } from '../shared/json.ts';

export interface Traces {
  take(sid: string, entry: Journaled): void;
  /** Sends what is gathered. */
  close(): Promise<void>;
}

type Attributes = Readonly<Record<string, string | number>>;

/** A session's, or a subagent's, own place in the tree. */
interface Place {
  seq: number;
  /** The span that its steps and calls belong to. */
  parent: string;
  readonly open: Map<string, { readonly at: number; readonly attributes: Attributes }>;
}

const EVERY_MS = 2_000;
const MOST_IN_ONE = 500;
/** What waits for a collector that is away; the oldest gives way. */
const MOST_WAITING = 5_000;
const PATIENCE_MS = 10_000;
/** The answers after which OTLP says to try again. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Null: the environment asks for none. OTLP over HTTP, as JSON. */
export function openTraces(
  env: NodeJS.ProcessEnv,
  now: () => number,
  onError: (error: unknown) => void,
): Traces | null {
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const url = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (!url || env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return null;
  const headers = pairsOf(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const about: Attributes = {
    'service.name': 'odin',
    ...pairsOf(env['OTEL_RESOURCE_ATTRIBUTES'] ?? ''),
    ...(env['OTEL_SERVICE_NAME'] ? { 'service.name': env['OTEL_SERVICE_NAME'] } : {}),
  };
  const since = now();
  const places = new Map<string, Place>();
  let waiting: Json[] = [];
  let hasFailed = false;
  let sending: Promise<void> = Promise.resolve();

  const send = async (): Promise<void> => {
    while (waiting.length > 0) {
      const spans = waiting.slice(0, MOST_IN_ONE);
      const resource = { attributes: attributesOf(about) };
      const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'odin' }, spans }] }] };
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          redirect: 'error',
          signal: AbortSignal.timeout(PATIENCE_MS),
        });
        const isRefused = !response.ok && !PASSING.has(response.status);
        if (!response.ok && !isRefused) throw new Error(`The collector of traces said ${response.status}.`);
        waiting = waiting.slice(spans.length);
        hasFailed = false;
        // What it will not have it will not have next time either.
        if (isRefused) onError(new Error(`The collector of traces refused ${spans.length} spans: ${response.status}.`));
      } catch (error) {
        // They wait for the next time. Once is enough to be told.
        if (!hasFailed) onError(error);
        hasFailed = true;
        return;
      }
    }
  };
  const timer = setInterval(() => {
    sending = sending.then(send);
  }, EVERY_MS).unref();

  const emit = (sid: string, seq: number, span: Span): void => {
    if (span.end < since) return;
    waiting.push({
      traceId: sha256(`${sid}/${seq}`).slice(0, 32),
      spanId: span.id,
      ...(span.parent === '' ? {} : { parentSpanId: span.parent }),
      name: span.name,
      kind: span.kind,
      startTimeUnixNano: `${span.start}000000`,
      endTimeUnixNano: `${span.end}000000`,
      attributes: attributesOf({ 'odin.session': sid, ...span.attributes }),
      status: span.fault === '' ? { code: OK } : { code: ERROR, message: span.fault },
    });
    if (waiting.length > MOST_WAITING) waiting = waiting.slice(-MOST_WAITING);
  };

  /** `who` is the session, or `session/agent`. */
  const take = (sid: string, who: string, event: JournalEvent): void => {
    const place: Place = places.get(who) ?? { seq: 0, parent: '', open: new Map() };
    places.set(who, place);
    const begin = (name: string, at: number, attributes: Attributes = {}) => place.open.set(name, { at, attributes });
    const end = (name: string, span: Omit<Span, 'id' | 'start'>): void => {
      const begun = place.open.get(name);
      place.open.delete(name);
      if (begun === undefined) return;
      const attributes = { ...begun.attributes, ...span.attributes };
      emit(sid, place.seq, { ...span, attributes, id: spanId(who, name), start: begun.at });
    };
    switch (event.type) {
      case 'msg.start':
        place.seq = event.seq;
        place.parent = spanId(who, `message ${event.seq}`);
        begin(`message ${event.seq}`, event.at, { 'odin.mode': event.mode, 'odin.seq': event.seq });
        return;
      case 'llm.req':
        begin(`${event.op} ${event.attempt}`, event.at, requestOf(event.model, event.op, event.attempt));
        begin(event.op, event.at, { attempt: event.attempt });
        return;
      case 'llm.res':
      case 'llm.fail': {
        const attempt = place.open.get(event.op)?.attributes['attempt'];
        const usage = event.usage === undefined ? {} : usageOf(event.usage.input, event.usage.output);
        const fault = event.type === 'llm.fail' ? event.failure.code : '';
        place.open.delete(event.op);
        end(`${event.op} ${attempt}`, {
          parent: place.parent,
          name: 'chat',
          kind: CLIENT,
          end: event.at,
          fault,
          attributes: usage,
        });
        return;
      }
      case 'tool.start':
        begin(event.op, event.at, { 'gen_ai.tool.name': event.name, 'odin.op': event.op });
        return;
      case 'tool.done': {
        const fault = event.kind === 'ok' ? '' : event.kind;
        end(event.op, {
          parent: place.parent,
          name: `tool ${event.name}`,
          kind: INTERNAL,
          end: event.at,
          fault,
          attributes: {},
        });
        return;
      }
      case 'agent.spawn': {
        const name = `agent ${event.aid}`;
        places.set(`${who}/${event.aid}`, { seq: event.seq, parent: spanId(who, name), open: new Map() });
        begin(name, event.at, { 'odin.agent': event.aid, 'odin.mode': event.mode, 'odin.op': event.op });
        return;
      }
      case 'agent.ev':
        return take(sid, `${who}/${event.aid}`, event.event);
      case 'agent.done': {
        places.delete(`${who}/${event.aid}`);
        const fault = event.end === 'completed' ? '' : event.end;
        end(`agent ${event.aid}`, {
          parent: place.parent,
          name: 'agent',
          kind: INTERNAL,
          end: event.at,
          fault,
          attributes: {},
        });
        return;
      }
      case 'msg.done': {
        const fault = event.status === 'completed' ? '' : event.status;
        const attributes = { 'odin.status': event.status, 'odin.steps': event.steps };
        end(`message ${event.seq}`, { parent: '', name: 'message', kind: INTERNAL, end: event.at, fault, attributes });
        place.open.clear();
        return;
      }
      default:
    }
  };

  return {
    take: (sid, { event }) => take(sid, sid, event),
    async close() {
      clearInterval(timer);
      sending = sending.then(send);
      await sending;
    },
  };
}

interface Span {
  readonly id: string;
  /** '': the message's own. */
  readonly parent: string;
  readonly name: string;
  readonly kind: number;
  readonly start: number;
  readonly end: number;
  /** '': it went well. */
  readonly fault: string;
  readonly attributes: Attributes;
}

/** OTLP's numbers. */
const INTERNAL = 1;
const CLIENT = 3;
const OK = 1;
const ERROR = 2;

const spanId = (who: string, name: string): string => sha256(`${who} ${name}`).slice(0, 16);

const requestOf = (model: string, op: string, attempt: number): Attributes => ({
  'gen_ai.request.model': model,
  'odin.op': op,
  'odin.attempt': attempt,
});

const usageOf = (input: number, output: number): Attributes => ({
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
});

const attributesOf = (attributes: Attributes): Json[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));

/** `a=b,c=d`, its values percent-encoded. */
function pairsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...value]) =>
      name.trim() === '' ? [] : [[name.trim(), decoded(value.join('=').trim())]],
    ),
  );
}

/** As it stands, when it is not encoded as it should be. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
