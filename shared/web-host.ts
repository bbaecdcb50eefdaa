// Comparing hosts (SAFETY 5, CVE-2026-24052): equal, or below by a dot; never by how they begin.

/** Whether a host is the allowed one or lies below it. Both as a URL spells them: lower case, punycode, no trailing dot. */
export function coversHost(allowed: string, host: string): boolean {
  if (host === allowed) return true;
  // What lies below `com` or below a number is not one site.
  const isSite = allowed.includes('.') && !/[:[]|^[\d.]+$/.test(allowed);
  return isSite && host.endsWith(`.${allowed}`);
}
