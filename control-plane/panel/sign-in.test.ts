import { Counter, Registry } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { HashQueue } from '../members/hash-queue.ts';
import type { Membership } from '../members/member-store.ts';
import { hashPassword } from '../members/password.ts';
import type { Session } from '../sessions/decide.ts';
import { StoreUnavailable } from '../store.ts';
import { signIn, type SignInPorts } from './sign-in.ts';

const OLD = 'A'.repeat(43);
const NEW = 'B'.repeat(43);
const accounts: Membership[] = [
  { id: 3, name: 'shop', role: 'owner', ipAllow: [] },
  { id: 5, name: 'other', role: 'viewer', ipAllow: ['192.0.2.0/24'] },
];
const found = () => Promise.resolve({ id: 7, passwordHash, generation: 2 });
const queue = { maxWaitingPerNetwork: 1, random: () => 0 };
const unavailable = () => Promise.reject(new Error('unavailable'));

let passwordHash: string;
let decoy: string;
beforeAll(async () => {
  [passwordHash, decoy] = await Promise.all([hashPassword('right'), hashPassword('nobody knows')]);
});

function build(change: Partial<SignInPorts> = {}) {
  const done: string[] = [];
  const begun: Session[] = [];
  const note = (what: string) => () => (done.push(what), Promise.resolve());
  const ports: SignInPorts = {
    members: {
      byEmail: (email) => (email === 'a@b.example' ? found() : Promise.resolve(undefined)),
      accountsOf: () => Promise.resolve(accounts),
      recordSignIn: ({ memberId, accountId }) => note(`recorded ${memberId} in ${accountId}`)(),
    },
    sessions: {
      begin: (session) => (begun.push(session), Promise.resolve(NEW)),
      end: (token) => note(`ended ${token}`)(),
    },
    limit: {
      countAttempt: () => (done.push('counted'), Promise.resolve(0)),
      reset: note('reset'),
      discountAttempt: note('discounted'),
    },
    devices: { find: () => Promise.resolve(undefined), remember: () => Promise.resolve(NEW) },
    hashes: new HashQueue({ concurrency: 1, maxWaiting: 1, ...queue }),
    decoy,
    cookies: { secure: false },
    lifetime: 60_000,
    log: createLog({ part: 'test', level: 'silent' }),
    outcomes: new Counter({
      name: 'sign_ins',
      help: 'sign-ins',
      labelNames: ['outcome'],
      registers: [new Registry()],
    }),
    ...change,
  };
  const attempt = async (body: object, cookie?: string) => {
    const outcome = await signIn({ body, cookie, ip: '203.0.113.9', now: 1000, trace: 't' }, ports);
    return outcome.ok
      ? { status: outcome.status, body: outcome.body, headers: outcome.headers }
      : outcome.error;
  };
  return { attempt, done, begun };
}
const right = { email: 'A@b.example', password: 'right' };

describe('signing in', () => {
  it('counts the attempt, checks the password, resets the limit and replaces the session', async () => {
    const { attempt, done, begun } = build();
    const answer = await attempt(right, `service_session=${OLD}`);
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'set-cookie': [
          `service_session=${NEW}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60`,
          `service_device=${NEW}; Path=/; HttpOnly; SameSite=Strict; Max-Age=7776000`,
        ],
      },
    });
    expect(done).toEqual(['counted', 'reset', `ended ${OLD}`, 'recorded 7 in 3']);
    expect(begun).toEqual([
      { memberId: 7, accountId: 3, generation: 2, beganAt: 1000, ip: '203.0.113.9' },
    ]);
  });

  it('keeps a wrong password counted, and answers an unknown address the same way', async () => {
    const { attempt, done, begun } = build();
    expect(await attempt({ ...right, password: 'wrong' })).toEqual({ code: 'wrong_credentials' });
    expect(await attempt({ email: 'x@y.example', password: 'nobody knows' })).toEqual({
      code: 'wrong_credentials',
    });
    expect([done, begun]).toEqual([['counted', 'counted'], []]);
  });

  it('looks nothing up during a pause', async () => {
    const members = { byEmail: unavailable, accountsOf: unavailable, recordSignIn: unavailable };
    const limit = {
      countAttempt: () => Promise.resolve(1500),
      reset: unavailable,
      discountAttempt: unavailable,
    };
    expect(await build({ limit, members }).attempt(right)).toEqual({
      code: 'too_many_guesses',
      retryAfter: 2,
    });
  });

  it('fails closed without Redis, before the password check and when storing the session', async () => {
    const limit = { countAttempt: unavailable, reset: unavailable, discountAttempt: unavailable };
    expect(
      await build({
        limit,
        members: { byEmail: unavailable, accountsOf: unavailable, recordSignIn: unavailable },
      }).attempt(right),
    ).toEqual({ code: 'sessions_unavailable' });
    expect(
      await build({ sessions: { begin: unavailable, end: unavailable } }).attempt(right),
    ).toEqual({
      code: 'sessions_unavailable',
    });
  });

  it('discounts an attempt whose password could not be checked', async () => {
    const full = new HashQueue({ concurrency: 0, maxWaiting: 0, ...queue });
    const busy = build({ hashes: full });
    expect(await busy.attempt(right)).toEqual({ code: 'busy', retryAfter: 1 });
    expect(busy.done).toEqual(['counted', 'discounted']);
    const store = build({
      members: {
        byEmail: () => Promise.reject(new StoreUnavailable('unavailable')),
        accountsOf: unavailable,
        recordSignIn: unavailable,
      },
    });
    await expect(store.attempt(right)).rejects.toThrow(StoreUnavailable);
    expect(store.done).toEqual(['counted', 'discounted']);
  });

  it('signs in to the requested account, from addresses that it allows', async () => {
    const { attempt, begun } = build();
    expect(await attempt({ ...right, account_id: 5 })).toEqual({ code: 'ip_not_allowed' });
    expect(await attempt({ ...right, account_id: 4 })).toMatchObject({ code: 'no_account' });
    expect(begun).toEqual([]);
    expect(
      await build({
        members: {
          byEmail: found,
          accountsOf: () => Promise.resolve([]),
          recordSignIn: unavailable,
        },
      }).attempt(right),
    ).toEqual({ code: 'no_account' });
  });
});
