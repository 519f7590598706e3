import type { IncomingHttpHeaders } from 'node:http';

/** A credential before lookup. `source`: keys come in headers, sessions in cookies. */
export interface Credential {
  source: 'authorization' | 'header' | 'cookie';
  token: string;
}

const COOKIES = ['__Host-service_session', 'service_session'];

/**
 * The first credential of the three sources in their order (management 5.2): `Authorization:
 * Bearer`, scheme in any case; X-Service-Key; the two session cookies. Another scheme or an empty
 * value counts as absent. Undefined: the request has none.
 */
export function findCredential(headers: IncomingHttpHeaders): Credential | undefined {
  const bearer = /^bearer +(\S.*)$/i.exec(headers.authorization?.trim() ?? '')?.[1]?.trim();
  if (bearer !== undefined && bearer !== '') return { source: 'authorization', token: bearer };
  const header = one(headers['x-service-key'])?.trim();
  if (header !== undefined && header !== '') return { source: 'header', token: header };
  const cookies = readCookies(headers.cookie ?? '');
  for (const name of COOKIES) {
    const token = cookies.get(name);
    if (token !== undefined && token !== '') return { source: 'cookie', token };
  }
  return undefined;
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The first value of each cookie; quotes around a value are not part of it. */
function readCookies(header: string): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at < 0) continue;
    const name = pair.slice(0, at).trim();
    if (!cookies.has(name))
      cookies.set(
        name,
        pair
          .slice(at + 1)
          .trim()
          .replace(/^"(.*)"$/, '$1'),
      );
  }
  return cookies;
}
