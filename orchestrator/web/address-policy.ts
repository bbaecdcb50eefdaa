// Which addresses may be dialled (SAFETY 5): public ones alone. What is not understood is not public.

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type AddressPolicy = (address: string) => boolean;

/** Metadata services and the like that lie in public ranges, or that a cloud answers on. */
const BLOCKED = ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::/32'].map((range) =>
  ipaddr.parseCIDR(range),
);
/** All that is routed: whatever lies outside is local, reserved, or hides an address of version 4. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3');

export const isPublicAddress: AddressPolicy = (text) => {
  // Stricter than the package, which takes `8.8` for an address too.
  if (isIP(text) === 0) return false;
  // An address of version 4 inside one of version 6 is judged as what it is.
  const address = ipaddr.process(text);
  if (address.range() !== 'unicast') return false;
  if (BLOCKED.some((range) => range[0].kind() === address.kind() && address.match(range))) return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_V6);
};
