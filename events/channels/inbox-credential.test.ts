import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isVerifiedUser } from './inbox-credential.ts';

const NOW = Date.UTC(2026, 10, 22);
const SECOND = NOW / 1000;
const SECRETS = ['new secret', 'old secret'];
const USER = 'کاربر ۱';

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text);
const hashBy = (secret: string, user = USER) => hmac(secret, user).digest('hex');
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(change: object = {}, { head = {}, secret = 'new secret' } = {}): string {
  const claims = { sub: USER, aud: '7', exp: SECOND + 3600, ...change };
  const text = `${encode({ alg: 'HS256', typ: 'JWT', ...head })}.${encode(claims)}`;
  return `${text}.${hmac(secret, text).digest('base64url')}`;
}

const verified = (sent: { hash?: unknown; token?: unknown }, secrets = SECRETS, userId = USER) =>
  isVerifiedUser({ userId, appId: 7, hash: sent.hash, token: sent.token }, { secrets, now: NOW });

describe('the hash of a user id', () => {
  it('is accepted under each of the two live secrets, in either case', () => {
    expect(verified({ hash: hashBy('new secret') })).toBe(true);
    expect(verified({ hash: hashBy('old secret') })).toBe(true);
    expect(verified({ hash: hashBy('old secret').toUpperCase() })).toBe(true);
  });

  it.each([
    ['of another user', hashBy('new secret', 'u2')],
    ['under a retired secret', hashBy('older secret')],
    ['that is cut', hashBy('new secret').slice(0, 62)],
    ['with something behind it', `${hashBy('new secret')}00`],
    ['that is no hex', 'z'.repeat(64)],
    ['that is empty', ''],
    ['that is a list', [hashBy('new secret')]],
    ['that is a number', 5],
    ['that is null', null],
    ['that is absent', undefined],
  ])('is refused: one %s', (_, hash) => {
    expect(verified({ hash })).toBe(false);
  });

  it('is refused when the app has no secret', () => {
    expect(verified({ hash: hashBy('') }, [])).toBe(false);
  });
});

describe('the token of a user', () => {
  it.each([
    ['for the app as a text', {}],
    ['for the app as a number', { aud: 7 }],
    ['for several audiences', { aud: ['x', '7'] }],
    ['that lives 24 hours', { exp: SECOND + 86_400 }],
    ['that lives a second', { exp: SECOND + 1 }],
    ['that is valid since now', { nbf: SECOND }],
  ])('is accepted: one %s', (_, change) => {
    expect(verified({ token: token(change) })).toBe(true);
    expect(verified({ token: token(change, { secret: 'old secret' }) })).toBe(true);
  });

  it.each([
    ['of another user', { sub: 'u2' }],
    ['without a user', { sub: undefined }],
    ['for another app', { aud: '8' }],
    ['for an app whose id begins alike', { aud: '77' }],
    ['for no app', { aud: undefined }],
    ['that expires now', { exp: SECOND }],
    ['that has expired', { exp: SECOND - 1 }],
    ['that lives longer than 24 hours', { exp: SECOND + 86_401 }],
    ['that never expires', { exp: undefined }],
    ['whose end is a text', { exp: String(SECOND + 60) }],
    ['whose end is not finite', { exp: 1e308 }],
    ['that is not valid yet', { nbf: SECOND + 60 }],
  ])('is refused: one %s', (_, change) => {
    expect(verified({ token: token(change) })).toBe(false);
  });

  it.each([
    ['none', ''],
    ['None', ''],
    ['HS512', undefined],
    ['RS256', undefined],
    ['hs256', undefined],
  ])('is refused when its header names the algorithm %s', (alg, signature) => {
    const made = token({}, { head: { alg } });
    const sent = signature === undefined ? made : made.slice(0, made.lastIndexOf('.') + 1);
    expect(verified({ token: sent })).toBe(false);
    expect(verified({ token: made })).toBe(false);
  });

  it('is refused when it names extensions that a reader must understand', () => {
    expect(verified({ token: token({}, { head: { crit: ['exp'] } }) })).toBe(false);
  });

  it('is refused under another secret, and with a change behind the signature', () => {
    expect(verified({ token: token({}, { secret: 'older secret' }) })).toBe(false);
    const [head = '', , signature = ''] = token().split('.');
    const other = encode({ sub: USER, aud: '7', exp: SECOND + 60, admin: true });
    expect(verified({ token: `${head}.${other}.${signature}` })).toBe(false);
  });

  it('is refused when it is huge, before anything is computed of it', () => {
    expect(verified({ token: token({ padding: 'x'.repeat(4096) }) })).toBe(false);
  });

  it.each([['a.b'], ['a.b.c'], ['...'], ['.'.repeat(5000)], [{}], [7], ['']])(
    'is refused when it is no token: %j',
    (sent) => {
      expect(verified({ token: sent })).toBe(false);
    },
  );

  it('must be right also where the hash is, and the other way round', () => {
    const hash = hashBy('new secret');
    expect(verified({ hash, token: token() })).toBe(true);
    expect(verified({ hash, token: token({ aud: '8' }) })).toBe(false);
    expect(verified({ hash: hashBy('x'), token: token() })).toBe(false);
  });
});
