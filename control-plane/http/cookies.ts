import { DEVICE_COOKIES, isSessionToken, SESSION_COOKIES } from '../../platform/sessions.ts';

const [SECURE_NAME, PLAIN_NAME] = SESSION_COOKIES;

/**
 * Behind https the session's cookie has the __Host- name, which browsers restrict (Secure, no
 * Domain, Path=/); otherwise the plain one.
 */
export interface CookieRules {
  secure: boolean;
}

/** The name under which a session is set. */
export function cookieName({ secure }: CookieRules): string {
  return secure ? SECURE_NAME : PLAIN_NAME;
}

/**
 * The session's token in a Cookie header; undefined without a valid one. Both names in their order
 * (management 5.2), but behind https only the __Host- one: another host of the same domain could
 * set the other.
 */
export function readSessionCookie(
  header: string | undefined,
  rules: CookieRules,
): string | undefined {
  return readCookie(header, rules.secure ? [SECURE_NAME] : SESSION_COOKIES);
}

/** The device's token in a Cookie header, by the same rules. */
export function readDeviceCookie(
  header: string | undefined,
  { secure }: CookieRules,
): string | undefined {
  return readCookie(header, secure ? [DEVICE_COOKIES[0]] : DEVICE_COOKIES);
}

function readCookie(header: string | undefined, names: readonly string[]): string | undefined {
  const cookies = (header ?? '').split(';').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? ['', ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  for (const name of names) {
    const value = cookies.find(([found]) => found === name)?.[1]?.replace(/^"(.*)"$/, '$1');
    if (value !== undefined && isSessionToken(value)) return value;
  }
  return undefined;
}

/** Set-Cookie of a new session; `seconds` is its maximum lifetime. */
export function setSessionCookie(
  token: string,
  { secure, seconds }: CookieRules & { seconds: number },
): string {
  return setCookie(`${cookieName({ secure })}=${token}`, { secure, seconds });
}

/** Set-Cookie of a device; it outlives sessions and sign-outs. */
export function setDeviceCookie(
  token: string,
  { secure, seconds }: CookieRules & { seconds: number },
): string {
  return setCookie(`${DEVICE_COOKIES[secure ? 0 : 1]}=${token}`, { secure, seconds });
}

function setCookie(pair: string, { secure, seconds }: CookieRules & { seconds: number }): string {
  return `${pair}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure ? '; Secure' : ''}`;
}

/** Set-Cookie lines that delete every session cookie. */
export function clearSessionCookies({ secure }: CookieRules): string[] {
  const clear = (name: string) =>
    `${name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0${secure ? '; Secure' : ''}`;
  return (secure ? SESSION_COOKIES : [PLAIN_NAME]).map(clear);
}
