import { describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { permissions, roles, type Role } from '../../platform/permissions.ts';
import { authenticate, refuseLacking, type SessionPorts } from './authenticate.ts';
import { readSession, timeLeft, type Session } from './decide.ts';

const HOUR = 3_600_000;
const session: Session = { memberId: 1, accountId: 2, generation: 3, beganAt: 1000 * HOUR };
const times = { lifetime: 12 * HOUR, idle: HOUR };

describe('how long a session lasts', () => {
  it.each([
    ['used at its beginning', 0, HOUR],
    ['used after ten hours', 10 * HOUR, HOUR],
    ['near its end: no longer than its life', 11.5 * HOUR, HOUR / 2],
    ['at its end', 12 * HOUR, 0],
    ['long after', 100 * HOUR, 0],
  ])('%s', (_, after, left) =>
    expect(timeLeft(session, { ...times, now: session.beganAt + after })).toBe(left),
  );
});

describe('what Redis keeps', () => {
  it('is read back', () => expect(readSession(JSON.stringify(session))).toEqual(session));
  it.each([
    '',
    'null',
    '[]',
    '{"memberId":1}',
    JSON.stringify({ ...session, accountId: '2' }),
    JSON.stringify({ ...session, memberId: 0 }),
  ])('%s is no session', (text) => expect(readSession(text)).toBeUndefined());
});

describe('permissions of the control plane (ingest 4.9, management 2.7)', () => {
  it.each(['settings.read', 'settings.write'] as const)(
    '%s is held by owner and admin alone',
    (permission) => {
      const may = roles.filter((role) => refuseLacking(role, permission) === undefined);
      expect(may).toEqual(['owner', 'admin'] satisfies Role[]);
      expect(refuseLacking('viewer', permission)).toMatchObject({
        code: 'forbidden',
        need: permission,
      });
    },
  );
  it('the owner holds everything', () =>
    expect(permissions.filter((one) => refuseLacking('owner', one))).toEqual([]));
});

describe('who a request comes from', () => {
  const token = 'A'.repeat(43);
  const account = { id: 2, name: 'shop', role: 'owner' as const, ipAllow: [] as string[] };
  const ports = (change: Partial<SessionPorts> = {}): SessionPorts => ({
    sessions: { use: () => Promise.resolve(session) },
    members: { active: () => Promise.resolve({ email: 'a@b.example', account }) },
    cookies: { secure: false },
    log: createLog({ part: 'test', level: 'silent' }),
    ...change,
  });
  const knock = { cookie: `service_session=${token}`, ip: '203.0.113.9', now: 0 };
  const codeOf = async (
    change: Partial<SessionPorts>,
    cookie: string | undefined = knock.cookie,
  ) => {
    const entry = await authenticate({ ...knock, cookie }, ports(change));
    return entry.ok ? 'in' : entry.error.code;
  };

  it('a session of an active member lets in', async () => {
    expect(await authenticate(knock, ports())).toEqual({
      ok: true,
      caller: { memberId: 1, email: 'a@b.example', account },
      token,
    });
  });
  it('no session, an ended one, and one of a member who was changed do not', async () => {
    expect(await codeOf({}, '')).toBe('unauthenticated');
    expect(await codeOf({ sessions: { use: () => Promise.resolve(undefined) } })).toBe(
      'unauthenticated',
    );
    expect(await codeOf({ members: { active: () => Promise.resolve(undefined) } })).toBe(
      'unauthenticated',
    );
  });
  it('without Redis nobody is told that the session is over', async () => {
    expect(await codeOf({ sessions: { use: () => Promise.reject(new Error('away')) } })).toBe(
      'sessions_unavailable',
    );
  });
  it('the address must be one that the account allows', async () => {
    const from = (ipAllow: string[]) => ({
      members: {
        active: () => Promise.resolve({ email: 'a@b.example', account: { ...account, ipAllow } }),
      },
    });
    expect(await codeOf(from(['192.0.2.0/24']))).toBe('ip_not_allowed');
    expect(await codeOf(from(['192.0.2.0/24', '203.0.113.9']))).toBe('in');
  });
});
