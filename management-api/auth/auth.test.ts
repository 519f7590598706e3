import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressRanges, isAddressRange } from '../../platform/network/address-ranges.ts';
import { clientAddress } from '../../platform/network/client-address.ts';
import { findCredential } from './credential.ts';
import { admit, rejectWithoutPermission, rejectBeforeLookup, type StoredKey } from './decide.ts';
import { effectivePermissions, permissions, roles } from './roles.ts';

const NOW = Date.UTC(2026, 10, 21);
const key: StoredKey = {
  keyId: 7,
  accountId: 3,
  role: 'viewer',
  expiresAt: NOW + 1,
  revoked: false,
  accountActive: true,
  ipAllow: [],
};
const codeOf = (admission: ReturnType<typeof admit>) =>
  admission.ok ? 'admitted' : admission.error.code;

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

describe('the five 401 codes', () => {
  it('a missing credential and a write key are rejected before any lookup', () => {
    expect(rejectBeforeLookup(undefined)?.code).toBe('unauthenticated');
    expect(rejectBeforeLookup({ source: 'header', token: 'wk_svc_x' })?.code).toBe(
      'write_key_rejected',
    );
    expect(rejectBeforeLookup({ source: 'cookie', token: 'wk_' })?.code).toBe('write_key_rejected');
    expect(rejectBeforeLookup({ source: 'header', token: 'sk_svc_x' })).toBeUndefined();
  });

  it('an unknown key, a revoked one and one of a suspended account get the same error, expired or not', () => {
    expect(codeOf(admit({ kind: 'unknown' }, NOW))).toBe('unauthenticated');
    for (const expiresAt of [NOW - 1, NOW + 1]) {
      expect(codeOf(admit({ kind: 'key', key: { ...key, expiresAt, revoked: true } }, NOW))).toBe(
        'unauthenticated',
      );
      expect(
        codeOf(admit({ kind: 'key', key: { ...key, expiresAt, accountActive: false } }, NOW)),
      ).toBe('unauthenticated');
    }
  });

  it('an expired key, a session, a staff credential and impersonation have errors of their own', () => {
    expect(codeOf(admit({ kind: 'key', key: { ...key, expiresAt: NOW } }, NOW))).toBe(
      'key_expired',
    );
    expect(codeOf(admit({ kind: 'key', key }, NOW))).toBe('admitted');
    expect(codeOf(admit({ kind: 'session' }, NOW))).toBe('api_key_required');
    expect(codeOf(admit({ kind: 'staff' }, NOW))).toBe('wrong_surface');
    expect(codeOf(admit({ kind: 'impersonation', readOnly: true }, NOW))).toBe(
      'impersonation_read_only',
    );
    expect(codeOf(admit({ kind: 'impersonation', readOnly: false }, NOW))).toBe(
      'impersonation_forbidden',
    );
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

  it('the error names the missing permission', () => {
    const caller = { keyId: 1, accountId: 1, role: 'viewer' as const, permissions: may('viewer') };
    expect(rejectWithoutPermission(caller, 'segment.read')).toBeUndefined();
    expect(rejectWithoutPermission(caller, undefined)).toBeUndefined();
    expect(rejectWithoutPermission(caller, 'data.export')).toMatchObject({
      code: 'forbidden',
      need: 'data.export',
      message: expect.stringContaining('GET /v1/whoami') as string,
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
