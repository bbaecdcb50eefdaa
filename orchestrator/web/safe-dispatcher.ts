// The connections of WebFetch (SAFETY 5). Every address is checked where it is dialled: a number in the address itself, all that a name
// stands for, and once more the far end of the connection that came of it. Proxies of the environment are not used: behind one
// the check would see the proxy alone.

import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { type AddressPolicy, isPublicAddress } from './address-policy.ts';
import { isWebPort } from './web-url.ts';

/** Finds all addresses of a name. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** What addresses are judged by. Others than these are given by tests alone: there is no setting and no variable for it. */
export interface ConnectRules {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** As a URL has it: empty for the scheme's own. */
  allowsPort(port: string): boolean;
}

export interface ConnectLimits {
  readonly headersMs: number;
  readonly maxHeaderBytes: number;
}

/** Thrown where a connection was about to be made; found as a `cause` of what fetch throws. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ODIN_ADDRESS_REFUSED';
}

export const PUBLIC_ONLY: ConnectRules = {
  policy: isPublicAddress,
  resolve: (host, done) => dnsLookup(host, { all: true }, done),
  allowsPort: isWebPort,
};

/** Whether the host of a URL is a number that may not be dialled: known without asking anybody. */
export function isRefusedNumber(host: string, { policy }: Pick<ConnectRules, 'policy'>): boolean {
  const literal = host.replace(/^\[|\]$/g, '');
  return isIP(literal) !== 0 && !policy(literal);
}

/** For one page: nothing is kept, so that every page is connected and checked anew. */
export function openSafeDispatcher(rules: ConnectRules, limits: ConnectLimits): Agent {
  const connect = buildConnector({
    timeout: limits.headersMs,
    allowH2: false,
    maxCachedSessions: 0,
    lookup: checkedLookup(rules),
  });
  return new Agent({
    connections: 2,
    pipelining: 0,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.headersMs,
    maxHeaderSize: limits.maxHeaderBytes,
    connect(options, callback) {
      if (isRefusedNumber(options.hostname, rules)) return callback(new AddressRefused(), null);
      connect(options, (...[error, socket]: [Error, null] | [null, Socket]) => {
        if (error) return callback(error, null);
        if (rules.policy(socket.remoteAddress ?? '')) return callback(null, socket);
        socket.destroy();
        callback(new AddressRefused(), null);
      });
    },
  });
}

/** One address that is not public refuses the name: which one would be dialled is not ours to choose. */
function checkedLookup({ policy, resolve }: ConnectRules): LookupFunction {
  return (host, options, callback) => {
    resolve(host, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error) return callback(error, [], 0);
      if (!first || !addresses.every(({ address }) => policy(address))) return callback(new AddressRefused(), [], 0);
      if (options.all) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}
