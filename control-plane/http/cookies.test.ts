import { describe, expect, it } from 'vitest';
import { clearSessionCookies, readSessionCookie, setSessionCookie } from './cookies.ts';

const A = 'A'.repeat(43);
const B = 'B'.repeat(43);
const open = { secure: false };
const guarded = { secure: true };

describe('the session cookie (management 5.2)', () => {
  it.each([
    ['no cookie', undefined, undefined, undefined],
    ['the plain name', `service_session=${A}`, A, undefined],
    ['the __Host- name', `__Host-service_session=${A}`, A, A],
    [
      'both names, the __Host- one first',
      `service_session=${B}; __Host-service_session=${A}`,
      A,
      A,
    ],
    ['other cookies', `x=1; service_session="${A}" ; y`, A, undefined],
    [
      'no valid token',
      `service_session=; __Host-service_session=sk_svc_${'a'.repeat(43)}`,
      undefined,
      undefined,
    ],
    ['a name that ends like it', `my_service_session=${A}`, undefined, undefined],
    ['a token that is too long', `service_session=${A}A`, undefined, undefined],
  ])('is read from a header with %s', (_, header, plainly, behindTls) => {
    expect(readSessionCookie(header, open)).toBe(plainly);
    expect(readSessionCookie(header, guarded)).toBe(behindTls);
  });

  it('is HttpOnly and SameSite, and Secure behind https', () => {
    expect(setSessionCookie(A, { ...open, seconds: 60 })).toBe(
      `service_session=${A}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60`,
    );
    expect(setSessionCookie(A, { ...guarded, seconds: 60 })).toBe(
      `__Host-service_session=${A}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure`,
    );
  });

  it('is deleted under every name that a browser may have', () => {
    expect(clearSessionCookies(open)).toEqual([
      'service_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect(clearSessionCookies(guarded).map((line) => line.split('=')[0])).toEqual([
      '__Host-service_session',
      'service_session',
    ]);
  });
});
