import { describe, expect, it } from 'vitest';
import { roles } from '../../platform/permissions.ts';
import { isWithin, refuseChange } from './decide.ts';

describe('changes of memberships', () => {
  it.each([
    ['an admin invites a marketer', { from: undefined, to: 'marketer', by: 'admin' }],
    ['an admin removes another admin', { from: 'admin', to: undefined, by: 'admin' }],
    ['an owner makes another owner', { from: 'admin', to: 'owner', by: 'owner' }],
  ] as const)('are allowed: %s', (_, change) => {
    expect(refuseChange({ ...change, isOwn: false })).toBeUndefined();
  });

  it.each([
    ['an admin makes an owner', { from: 'admin', to: 'owner', by: 'admin' }],
    ['an admin demotes an owner', { from: 'owner', to: 'viewer', by: 'admin' }],
    ['an admin removes an owner', { from: 'owner', to: undefined, by: 'admin' }],
    ['a marketer invites an analyst, who may read the audit log', analystBy('marketer')],
  ] as const)('are refused: %s', (_, change) => {
    expect(refuseChange({ ...change, isOwn: false })).toContain('your role');
  });

  it('are refused to the member themselves', () => {
    expect(refuseChange({ from: 'owner', to: 'admin', by: 'owner', isOwn: true })).toContain('own');
  });
});

it('every role is within itself and within owner', () => {
  for (const role of roles)
    expect([isWithin(role, role), isWithin(role, 'owner')]).toEqual([true, true]);
});

function analystBy(by: 'marketer') {
  return { from: undefined, to: 'analyst', by } as const;
}
