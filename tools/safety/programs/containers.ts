// Container tools (R12): with the host's root, its socket or its privileges in reach they are never allowed.

import { type Call, forbid, type Judge, needs } from '../judge.ts';
import { type Field, isKnown, sliceField } from '../words.ts';
import { isVersionQuery } from './runners.ts';
import { judgeStray } from './stray.ts';

const SOCKET = /(?:docker|podman|containerd|crio)[\w./-]*\.sock/;
const MOUNTS_ROOT = /(?:^|[=,\s])(?:\/+(?:\.+\/*)*)(?::|,|$)|(?:source|src)=\/+(?:\.+\/*)*(?:,|$)/;

/** Judges a call of a container tool. */
export function judgeContainer(judge: Judge, call: Call): void {
  if (isVersionQuery(call.name, call.args)) return;
  needs(judge, 'exec', `${call.name} runs programs outside of the sandbox's rules.`);
  for (const [at, field] of call.args.entries()) {
    if (/^--privileged(?:=(?!false).*)?$/.test(field.text))
      forbid(judge, `${call.name} --privileged is never allowed.`);
    const mount = mountOf(field, call.args[at - 1]);
    if (mount !== undefined && (MOUNTS_ROOT.test(mount) || SOCKET.test(mount))) {
      forbid(
        judge,
        `${call.name} with ${field.raw} mounts the host's root or its container socket; that is never allowed.`,
      );
    }
    judgeStray(judge, mount === undefined ? field : hostSide(field, mount), 'run', call.scope);
  }
}

/** The host's side of a mount: the other is a path in the container. */
function hostSide(field: Field, mount: string): Field {
  const from = field.text.length - mount.length;
  const source = /(?:^|,)(?:source|src)=([^,]*)/.exec(mount);
  const start = source === null ? 0 : source.index + source[0].length - (source[1] ?? '').length;
  const length = source === null ? mount.split(':')[0]?.length : source[1]?.length;
  return sliceField(field, from + start, from + start + (length ?? mount.length));
}

/** The text of a mount: the value of -v, --volume or --mount, attached or not. */
function mountOf(field: Field, previous: Field | undefined): string | undefined {
  if (!isKnown(field)) return undefined;
  if (/^(?:-v|--volume|--mount|--bind)$/.test(previous?.text ?? '')) return field.text;
  const attached = /^(?:-v=?|--volume=|--mount=|--bind=)(.+)$/.exec(field.text);
  return attached?.[1];
}
