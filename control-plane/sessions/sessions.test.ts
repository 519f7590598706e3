import { describe, expect, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { createLog } from '../../platform/log.ts';
import { permissions, roles, type Role } from '../../platform/permissions.ts';
import { authenticate, refuseLacking, type SessionPorts } from './authenticate.ts';
import { readSession, timeLeft, type Session } from './decide.ts';

const HOUR = 3_600_000;
const session: Session = { memberId: 1, accountId: 2, generation: 3, beganAt: 1000 * HOUR };
const times = { lifetime: 12 * HOUR, idle: HOUR };

describe('a session of at most twelve hours that expires after an hour without use', () => {
  const { given } = decider((used: Session, now: number) => timeLeft(used, { ...times, now }));

  it.each([
    ['has an hour left when it is used at its start', 0, HOUR],
    ['has an hour left when it is used after ten hours', 10 * HOUR, HOUR],
    ['has half an hour left when it is used after eleven and a half', 11.5 * HOUR, HOUR / 2],
    ['has expired at the end of its lifetime', 12 * HOUR, 0],
    ['has expired long after its lifetime', 100 * HOUR, 0],
  ])('%s', (_, after, left) => {
    given(session)
      .when(session.beganAt + after)
      .then(left);
  });
});

describe('a stored session', () => {
  it('is parsed', () => expect(readSession(JSON.stringify(session))).toEqual(session));
  it.each([
    '',
    'null',
    '[]',
    '{"memberId":1}',
    JSON.stringify({ ...session, accountId: '2' }),
    JSON.stringify({ ...session, memberId: 0 }),
  ])('%s is not a session', (text) => expect(readSession(text)).toBeUndefined());
});

describe('permissions of the control plane (ingest 4.9, management 2.7)', () => {
  it.each(['settings.read', 'settings.write'] as const)(
    'only owner and admin have %s',
    (permission) => {
      const may = roles.filter((role) => refuseLacking(role, permission) === undefined);
      expect(may).toEqual(['owner', 'admin'] satisfies Role[]);
      expect(refuseLacking('viewer', permission)).toMatchObject({
        code: 'forbidden',
        need: permission,
      });
    },
  );
  it('the owner has every permission', () =>
    expect(permissions.filter((one) => refuseLacking('owner', one))).toEqual([]));
});

describe('authenticating a request', () => {
  const token = 'A'.repeat(43);
  const account = { id: 2, name: 'shop', role: 'owner' as const, ipAllow: [] as string[] };
  const ports = (change: Partial<SessionPorts> = {}): SessionPorts => ({
    sessions: { use: () => Promise.resolve(session) },
    members: { active: () => Promise.resolve({ email: 'a@b.example', account }) },
    cookies: { secure: false },
    log: createLog({ part: 'test', level: 'silent' }),
    ...change,
  });
  const input = { cookie: `service_session=${token}`, ip: '203.0.113.9', now: 0 };
  const codeOf = async (
    change: Partial<SessionPorts>,
    cookie: string | undefined = input.cookie,
  ) => {
    const result = await authenticate({ ...input, cookie }, ports(change));
    return result.ok ? 'accepted' : result.error.code;
  };

  it('accepts the session of an active member', async () => {
    expect(await authenticate(input, ports())).toEqual({
      ok: true,
      caller: { memberId: 1, email: 'a@b.example', account },
      session,
      token,
    });
  });
  it('refuses a request without a session, with an ended one, or of a changed member', async () => {
    expect(await codeOf({}, '')).toBe('unauthenticated');
    expect(await codeOf({ sessions: { use: () => Promise.resolve(undefined) } })).toBe(
      'unauthenticated',
    );
    expect(await codeOf({ members: { active: () => Promise.resolve(undefined) } })).toBe(
      'unauthenticated',
    );
  });
  it('answers 503 without Redis, instead of 401', async () => {
    expect(
      await codeOf({ sessions: { use: () => Promise.reject(new Error('unavailable')) } }),
    ).toBe('sessions_unavailable');
  });
  it('refuses an address that the account does not allow', async () => {
    const from = (ipAllow: string[]) => ({
      members: {
        active: () => Promise.resolve({ email: 'a@b.example', account: { ...account, ipAllow } }),
      },
    });
    expect(await codeOf(from(['192.0.2.0/24']))).toBe('ip_not_allowed');
    expect(await codeOf(from(['192.0.2.0/24', '203.0.113.9']))).toBe('accepted');
  });
});
