import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { addressRanges, isAddressRange } from '../../platform/network/address-ranges.ts';
import { clientAddress } from '../../platform/network/client-address.ts';
import type { DomainError } from '../../account-api/errors/domain-error.ts';
import { findCredential, type Credential } from './credential.ts';
import {
  admit,
  rejectBeforeLookup,
  rejectWithoutPermission,
  type Resolved,
  type StoredKey,
} from './decide.ts';
import { effectivePermissions, permissions, roles } from './roles.ts';

const NOW = Date.UTC(2026, 10, 21);
const key: StoredKey = {
  keyId: 7,
  accountId: 3,
  role: 'viewer',
  expiresAt: NOW + 1,
  revoked: false,
  accountActive: true,
  messageLimit: null,
  ipAllow: [],
};

describe('where the credential is read from (management 5.2)', () => {
  it('the first of Authorization, X-Service-Key and the two cookies is used', () => {
    const headers = {
      authorization: 'bEaReR  a ',
      'x-service-key': 'b',
      cookie: 'service_session=d; __Host-service_session="c"',
    };
    expect(findCredential(headers)).toEqual({ source: 'authorization', token: 'a' });
    expect(findCredential({ ...headers, authorization: 'Basic a' })).toEqual({
      source: 'header',
      token: 'b',
    });
    expect(findCredential({ ...headers, authorization: 'Bearer ', 'x-service-key': ' ' })).toEqual({
      source: 'cookie',
      token: 'c',
    });
    expect(findCredential({ cookie: 'other=1; service_session=d' })).toEqual({
      source: 'cookie',
      token: 'd',
    });
    expect(findCredential({})).toBeUndefined();
  });
});

describe('a credential before any lookup (management 5.3)', () => {
  it.each<[title: string, credential: Credential | undefined, code: string | undefined]>([
    ['is required', undefined, 'unauthenticated'],
    [
      'is rejected when it is a write key in a header',
      { source: 'header', token: 'wk_svc_x' },
      'write_key_rejected',
    ],
    [
      'is rejected when it is a write key in a cookie',
      { source: 'cookie', token: 'wk_' },
      'write_key_rejected',
    ],
    [
      'is rejected when it is a management key in a cookie',
      { source: 'cookie', token: 'sk_svc_x' },
      'unauthenticated',
    ],
    ['passes when it may be a session', { source: 'cookie', token: 'x' }, undefined],
    ['passes when it is a management key', { source: 'header', token: 'sk_svc_x' }, undefined],
  ])('%s', (_, credential, code) => {
    expect(rejectBeforeLookup(credential)?.code).toBe(code);
  });
});

describe('admitting a resolved credential (management 5.3)', () => {
  const { given } = decider(admit);
  const stored = (fields: Partial<StoredKey>): Resolved => ({
    kind: 'key',
    key: { ...key, ...fields },
  });

  it('a valid key is admitted with the permissions of its role', () => {
    given(stored({}))
      .when(NOW)
      .then({
        ok: true,
        caller: {
          keyId: 7,
          accountId: 3,
          role: 'viewer',
          permissions: effectivePermissions('viewer'),
          actor: 'key:7',
          messageLimit: null,
        },
        ipAllow: [],
      });
  });

  it.each<[title: string, resolved: Resolved, code: DomainError['code']]>([
    ['an unknown key is unauthenticated', { kind: 'unknown' }, 'unauthenticated'],
    [
      'a revoked key gets the error of an unknown one',
      stored({ revoked: true }),
      'unauthenticated',
    ],
    [
      'a key that is revoked and expired gets the error of an unknown one',
      stored({ revoked: true, expiresAt: NOW - 1 }),
      'unauthenticated',
    ],
    [
      'a key of a suspended account gets the error of an unknown one',
      stored({ accountActive: false }),
      'unauthenticated',
    ],
    [
      'an expired key of a suspended account gets the error of an unknown one',
      stored({ accountActive: false, expiresAt: NOW - 1 }),
      'unauthenticated',
    ],
    ['a key is rejected from the moment it expires', stored({ expiresAt: NOW }), 'key_expired'],
    ['a session cannot replace a key', { kind: 'session' }, 'api_key_required'],
    ['a staff credential belongs to another surface', { kind: 'staff' }, 'wrong_surface'],
    [
      'a read-only impersonation is rejected as such',
      { kind: 'impersonation', readOnly: true },
      'impersonation_read_only',
    ],
    [
      'any other impersonation is forbidden',
      { kind: 'impersonation', readOnly: false },
      'impersonation_forbidden',
    ],
  ])('%s', (_, resolved, code) => {
    given(resolved).when(NOW).then({ ok: false, error: { code } });
  });
});

describe('permissions and roles (management 2.7)', () => {
  const may = (role: (typeof roles)[number]) => effectivePermissions(role);

  it('there are 28 permissions; a key has a sorted list without the two of the owner', () => {
    expect(new Set(permissions).size).toBe(28);
    for (const role of roles) {
      expect(may(role)).toEqual([...may(role)].sort());
      expect(may(role)).not.toContain('tenant.delete');
      expect(may(role)).not.toContain('tenant.transfer');
    }
  });

  it('each role has the permissions of the table', () => {
    const routePermissions = [
      'segment.read',
      'segment.write',
      'segment.delete',
      'profile.write',
      'event.read',
      'campaign.read',
      'campaign.write',
      'campaign.send',
      'analytics.read',
      'data.export',
    ] as const;
    const opened = (role: (typeof roles)[number]) =>
      routePermissions.filter((permission) => may(role).includes(permission));
    const reading = ['segment.read', 'event.read', 'campaign.read', 'analytics.read'];
    for (const role of ['owner', 'admin', 'marketer'] as const)
      expect(opened(role)).toEqual(routePermissions);
    expect(opened('analyst')).toEqual([...reading, 'data.export']);
    expect(opened('viewer')).toEqual(reading);
    expect(opened('approver')).toEqual(reading);
    expect(may('finance')).toEqual(['billing.read', 'billing.write']);
    expect(may('analyst').filter((permission) => !may('viewer').includes(permission))).toEqual([
      'audit.read',
      'data.export',
      'profile.read',
    ]);
    expect(may('approver').filter((permission) => !may('viewer').includes(permission))).toEqual([
      'campaign.approve',
    ]);
  });

  describe('given a caller with the role viewer', () => {
    const { given } = decider(rejectWithoutPermission);
    const viewer = {
      ...({ keyId: 1, actor: 'key:1', accountId: 1, role: 'viewer' } as const),
      permissions: may('viewer'),
    };

    it('a route that needs a permission of the role is open', () => {
      given(viewer).when('segment.read').then(undefined);
    });

    it('a route that needs no permission is open', () => {
      given(viewer).when(undefined).then(undefined);
    });

    it('the error names the missing permission', () => {
      given(viewer)
        .when('data.export')
        .then({
          code: 'forbidden',
          need: 'data.export',
          message: expect.stringContaining('GET /v1/whoami') as string,
        });
    });
  });
});

describe('addresses', () => {
  it('IPv4, IPv6 and mapped addresses match their ranges; an invalid entry matches nothing', () => {
    const ranges = addressRanges([
      '10.0.0.0/8',
      '192.0.2.7',
      '2001:db8::/32',
      'nonsense',
      '10.0.0.0/33',
      '1.2.3.4/',
    ]);
    for (const inside of ['10.255.0.1', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8:1::9'])
      expect(ranges.contains(inside)).toBe(true);
    for (const outside of ['11.0.0.1', '192.0.2.8', '2001:db9::', '', 'nonsense', '1.2.3.4'])
      expect(ranges.contains(outside)).toBe(false);
    expect(['0.0.0.0/0', '::/0', '::1'].every(isAddressRange)).toBe(true);
    expect(['10.0.0.0/33', '10.0.0/8', 'a', '', '1.1.1.1/8/8'].some(isAddressRange)).toBe(false);
  });

  it('only forwarded addresses written by trusted proxies are believed', () => {
    const trusted = addressRanges(['127.0.0.1', '10.0.0.0/8']);
    const of = (remote: string, forwardedFor?: string) =>
      clientAddress({ remote, forwardedFor }, trusted);
    expect(of('203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
    expect(of('127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(of('127.0.0.1', '1.1.1.1, 198.51.100.1, 10.0.0.2')).toBe('198.51.100.1');
    expect(of('::ffff:127.0.0.1', '2001:db8::1')).toBe('2001:db8::1');
    expect(of('127.0.0.1', 'unknown')).toBe('127.0.0.1');
    expect(of('127.0.0.1')).toBe('127.0.0.1');
  });

  it('an address that an untrusted client sent is ignored', () => {
    fc.assert(
      fc.property(
        fc.array(fc.ipV4()),
        fc.ipV4().filter((ip) => !ip.startsWith('10.')),
        (made, real) => {
          const trusted = addressRanges(['10.0.0.0/8']);
          expect(
            clientAddress(
              { remote: '10.0.0.1', forwardedFor: [...made, real].join(', ') },
              trusted,
            ),
          ).toBe(real);
        },
      ),
    );
  });
});
