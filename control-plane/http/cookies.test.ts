import { describe, expect, it } from 'vitest';
import { clearSessionCookies, readSessionCookie, setSessionCookie } from './cookies.ts';

const A = 'A'.repeat(43);
const B = 'B'.repeat(43);
const open = { secure: false };
const guarded = { secure: true };

describe('the session cookie (management 5.2)', () => {
  it.each([
    ['nothing', undefined, undefined, undefined],
    ['the plain one', `service_session=${A}`, A, undefined],
    ['the guarded one', `__Host-service_session=${A}`, A, A],
    ['both: the guarded one first', `service_session=${B}; __Host-service_session=${A}`, A, A],
    ['among others', `x=1; service_session="${A}" ; y`, A, undefined],
    [
      'no session',
      `service_session=; __Host-service_session=sk_svc_${'a'.repeat(43)}`,
      undefined,
      undefined,
    ],
    ['a part of a name', `my_service_session=${A}`, undefined, undefined],
    ['too long', `service_session=${A}A`, undefined, undefined],
  ])('%s', (_, header, plainly, behindTls) => {
    expect(readSessionCookie(header, open)).toBe(plainly);
    expect(readSessionCookie(header, guarded)).toBe(behindTls);
  });

  it('is out of the reach of scripts and other sites, and Secure behind https', () => {
    expect(setSessionCookie(A, { ...open, seconds: 60 })).toBe(
      `service_session=${A}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60`,
    );
    expect(setSessionCookie(A, { ...guarded, seconds: 60 })).toBe(
      `__Host-service_session=${A}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure`,
    );
  });

  it('is forgotten under every name that a browser may hold', () => {
    expect(clearSessionCookies(open)).toEqual([
      'service_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect(clearSessionCookies(guarded).map((line) => line.split('=')[0])).toEqual([
      '__Host-service_session',
      'service_session',
    ]);
  });
});
