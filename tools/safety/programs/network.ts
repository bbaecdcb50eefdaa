// Programs that reach other hosts (R11) and Odin's own ports (R13).

import { type Call, FLOW, forbid, type Judge, needs, note } from '../judge.ts';
import { judgePath } from '../paths.ts';
import type { Field } from '../words.ts';
import { plainName } from './names.ts';
import { isVersionQuery } from './runners.ts';
import { judgeStray } from './stray.ts';

const LOOPBACK =
  /(?:^|[^\w.])(?:localhost|127(?:\.\d+){1,3}|\[?::1\]?|0\.0\.0\.0|0x7f\w*|2130706433|\[::\]|ip6-localhost)(?:$|[^\w.-])/i;
const REDIS_PORT = 6379;
/** Options that name the user's own key or settings for the connection, which is what they are for. */
const IDENTITY = new Map([
  ['-i', new Set(['ssh', 'scp', 'sftp', 'rsync', 'mosh', 'autossh', 'sshfs'])],
  ['--cert', new Set(['curl'])],
  ['--key', new Set(['curl'])],
  ['--cacert', new Set(['curl'])],
]);
const WRITES =
  /^(?:-o|-O|-D|-c|-a|-P|--output|--output-document|--output-file|--append-output|--dump-header|--cookie-jar|--output-dir|--directory-prefix|--trace|--trace-ascii|--stderr|--etag-save|--libcurl)$/;

/** Saved under the name in the URL, this would be Odin's own file. */
const CONTROL_URL = /:\/\/.*\/odinconfig\.json(?:$|[?#])/;

/** Judges a program that reaches the network. */
export function judgeNetwork(judge: Judge, call: Call): void {
  if (isVersionQuery(call.name, call.args)) return;
  judge.part.flow |= FLOW.network | FLOW.download;
  needs(judge, 'network', `${call.name} reaches the network.`, judge.facts.tainted !== true);
  if (call.args.some((field) => field.substituted)) {
    note(
      judge,
      'forbidden',
      'network',
      `${call.name} with a command substitution in its arguments could carry data out.`,
      false,
    );
  }
  judgeOwnPorts(judge, call);
  if (call.args.some((field) => CONTROL_URL.test(field.text))) forbid(judge, "It may save over Odin's own rules.");
  for (const [at, field] of call.args.entries()) {
    const previous = call.args[at - 1]?.text ?? '';
    if (IDENTITY.get(previous)?.has(call.name) === true) judgeIdentity(judge, field, call);
    else if (WRITES.test(previous) && field.text !== '-') judgePath(judge, field, 'write', call.scope);
    else if (
      /^--(?:output|output-document|directory-prefix|output-dir|dump-header|cookie-jar)=/.test(field.text) ||
      /^-[oOP][^-\s]/.test(field.text)
    ) {
      judgeWritten(judge, field, call);
    } else if (field.text.includes('\u0000') && !field.splits) continue;
    else judgeStray(judge, field, 'network', call.scope);
  }
}

function judgeWritten(judge: Judge, field: Field, call: Call): void {
  const at = field.text.startsWith('--') ? field.text.indexOf('=') + 1 : 2;
  judgePath(judge, { ...field, text: field.text.slice(at), globAt: -1 }, 'write', call.scope);
}

/** A key file may be outside and secret: it is used here, not sent. */
function judgeIdentity(judge: Judge, field: Field, call: Call): void {
  const flow = judge.part.flow;
  judgePath(judge, field, 'read', call.scope);
  judge.part.flow = flow;
}

function judgeOwnPorts(judge: Judge, call: Call): void {
  const all = call.args.map((field) => field.text).join(' ');
  const ports = [REDIS_PORT, ...(judge.facts.control?.ports ?? [])];
  const redis = /^(?:redis|valkey)-cli$/.test(plainName(call.name));
  const elsewhere = /(?:^|\s)-h\s+\S/.test(all) || /:\/\//.test(all);
  const hosts = judge.facts.control?.hosts ?? [];
  const own = LOOPBACK.test(all) || hosts.some((host) => mentions(all, host)) || (redis && !elsewhere);
  const named = ports.some((port) => new RegExp(`(?:^|[^\\d])${port}(?:$|[^\\d])`).test(all));
  const socket = judge.facts.control?.paths.some((path) => mentions(all, path)) === true;
  if (socket || (own && (named || redis || /rediss?:\/\//.test(all))) || (redis && /(?:^|\s)-s\s/.test(all))) {
    forbid(judge, `${call.name} would reach Odin's own Redis or dashboard.`);
  }
}

/** Whether a host or path stands in the text, not as a part of another's name. */
function mentions(text: string, place: string): boolean {
  const literal = place.replace(/[^\w]/g, '\\$&');
  return place !== '' && new RegExp(`(?:^|[^\\w.-])${literal}(?:$|[^\\w.-]|\\.(?:$|\\W))`, 'i').test(text);
}
