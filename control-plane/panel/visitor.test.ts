import { expect, it } from 'vitest';
import type { SessionResult } from '../sessions/authenticate.ts';
import { StoreUnavailable } from '../store.ts';
import { visitorOf } from './visitor.ts';

const account = { id: 3, name: 'Shop', role: 'viewer', ipAllow: [] } as const;
const session = { memberId: 5, accountId: 3, generation: 0, beganAt: 0 };
const signedIn = {
  ok: true,
  caller: { memberId: 5, email: 'a@shop.example', account },
  ...{ session, token: 'secret' },
} satisfies SessionResult;
const refused = (code: 'unauthenticated' | 'sessions_unavailable' | 'ip_not_allowed') => () =>
  Promise.resolve<SessionResult>({ ok: false, error: { code } });
const members = { accountsOf: () => Promise.resolve([account]) };
const failing = () => Promise.reject(new StoreUnavailable(new Error('connection refused')));

it('a visitor with a session is a member, with all their accounts', async () => {
  expect(await visitorOf(() => Promise.resolve(signedIn), members)).toEqual({
    ...{ kind: 'member', accounts: [account] },
    caller: { memberId: 5, email: 'a@shop.example', account },
  });
});

it('a visitor without a session is nobody', async () => {
  expect(await visitorOf(refused('unauthenticated'), members)).toEqual({ kind: 'nobody' });
});

it('a visitor is unknown while sessions or accounts cannot be read', async () => {
  const unknown = { kind: 'unknown' };
  expect(await visitorOf(refused('sessions_unavailable'), members)).toEqual(unknown);
  expect(await visitorOf(refused('ip_not_allowed'), members)).toEqual(unknown);
  expect(await visitorOf(failing, members)).toEqual(unknown);
  const signed = () => Promise.resolve(signedIn);
  expect(await visitorOf(signed, { accountsOf: failing })).toEqual(unknown);
});

it('any other failure is not hidden', async () => {
  const failed = () => Promise.reject(new TypeError('a defect'));
  await expect(visitorOf(failed, members)).rejects.toThrow('a defect');
});
