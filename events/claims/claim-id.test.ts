import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId, claimScope, packClaimIds } from './claim-id.ts';

describe('claim ids', () => {
  it('are the first 12 bytes of SHA-256 over account, kind and key', () => {
    const id = claimId(claimScope(17, 'message'), 'سفارش-۱');
    const whole = createHash('sha256').update('17\0m\0سفارش-۱', 'utf8').digest();
    expect(Buffer.from(id, 'latin1')).toEqual(whole.subarray(0, 12));
  });

  it('differ between accounts and between kinds', () => {
    const ids = [
      claimScope(1, 'message'),
      claimScope(1, 'acceptance'),
      claimScope(11, 'message'),
    ].map((scope) => claimId(scope, 'same'));
    expect(new Set(ids).size).toBe(3);
  });

  it('are equal for a lone surrogate and the replacement character that is stored for it', () => {
    const scope = claimScope(1, 'message');
    expect(claimId(scope, 'a\ud800')).toBe(claimId(scope, 'a\ufffd'));
  });

  it('keep every byte when they are packed', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 40 }), (keys) => {
        const ids = keys.map((key) => claimId(claimScope('a', 'message'), key));
        expect(packClaimIds(ids).toString('latin1')).toBe(ids.join(''));
      }),
    );
  });
});
