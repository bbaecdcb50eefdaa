// Reading an address as it will be fetched (SAFETY 5): the same rules for what the model wrote and for every redirect.

import { fail, type Outcome, ok } from '../../shared/outcome.ts';
import type { WebTarget } from '../../shared/web-port.ts';

const MAX_CHARS = 2_000;
const PORTS: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443']);
/** Letters, digits, hyphens and dots after punycode, or an address of version 6. */
const HOST =
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*|\[[0-9a-f:.]+\])$/;

/** As a URL has it: empty for the scheme's own. */
export const isWebPort = (port: string): boolean => PORTS.has(port);

/** The target of an address, or why it is not fetched. `base`: where a redirect came from. */
export function parseWebUrl(text: string, allowsPort: (port: string) => boolean, base?: string): Outcome<WebTarget> {
  if (text.length > MAX_CHARS) return refused('url_too_long', `The address is over ${MAX_CHARS} characters long.`);
  const url = URL.parse(text.trim(), base);
  if (!url) return refused('bad_url', `${quoted(text)} is no address. Give it whole, with https:// in front.`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return refused('bad_scheme', `WebFetch reads http and https alone, not ${quoted(url.protocol)}.${hint(url)}`);
  }
  if (url.username !== '' || url.password !== '') {
    return refused(
      'credentials',
      'The address holds a user name or a password. Give it without; WebFetch never logs in.',
    );
  }
  if (!allowsPort(url.port)) {
    return refused('bad_port', `Port ${url.port} is not read: only 80, 443, 8080 and 8443.`);
  }
  url.hash = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  if (!HOST.test(url.hostname) || url.hostname.length > 253) {
    return refused('bad_host', `${quoted(url.hostname)} is not the name of a host.`);
  }
  return ok(asRawFile(url));
}

const refused = (code: string, message: string): Outcome<never> => fail('refused', code, message);
const quoted = (text: string): string => JSON.stringify(text.slice(0, 200));
const hint = ({ protocol }: URL): string =>
  protocol === 'file:' ? ' Files of the project are read with ReadFile.' : '';

/** A file that GitHub or GitLab shows is fetched as the file it is, not as the page around it. */
function asRawFile(url: URL): WebTarget {
  const [owner, repo, view, ...rest] = url.pathname.split('/').slice(1);
  if (isGitHub(url) && owner && repo && (view === 'blob' || view === 'raw') && rest.length >= 2) {
    return targetOf(new URL(`https://raw.githubusercontent.com/${owner}/${repo}/${rest.join('/')}`));
  }
  if (url.hostname === 'gitlab.com') url.pathname = url.pathname.replace('/-/blob/', '/-/raw/');
  return targetOf(url);
}

const isGitHub = ({ hostname }: URL): boolean => hostname === 'github.com' || hostname === 'www.github.com';

const targetOf = (url: URL): WebTarget => ({ url: url.href, host: url.hostname });
