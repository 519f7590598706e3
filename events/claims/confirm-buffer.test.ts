import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId } from './claim-id.ts';
import type { ClaimId } from './claim-id.ts';
import { fromClaimTime } from './claim-time.ts';
import { ConfirmBuffer, packConfirms } from './confirm-buffer.ts';

const id = fc.nat().map((number) => claimId('1\0m\0', String(number)));
const group = fc.record({
  ids: fc.array(id, { maxLength: 5 }),
  expires: fc.nat(2 ** 31).map((ms) => fromClaimTime(ms)),
});

function unpack(packed: Buffer): { ids: ClaimId[]; expires: number }[] {
  const groups = [];
  for (let at = 0; at < packed.length;) {
    const expires = fromClaimTime(packed.readUIntBE(at, 5));
    const count = packed.readUInt16BE(at + 5);
    const ids = Array.from(
      { length: count },
      (_, number) =>
        packed.toString('latin1', at + 7 + number * 12, at + 19 + number * 12) as ClaimId,
    );
    groups.push({ ids, expires });
    at += 7 + count * 12;
  }
  return groups;
}

describe('the confirm buffer', () => {
  it('returns the groups in the order in which they were added', () => {
    fc.assert(
      fc.property(fc.array(group), fc.integer({ min: 1, max: 12 }), (groups, maxIds) => {
        const buffer = new ConfirmBuffer(1_000);
        for (const each of groups) buffer.add(each);
        const packedGroups = [];
        while (buffer.size > 0) {
          const { groups: next, count } = buffer.next(maxIds);
          const part = unpack(packConfirms(next));
          expect(part.reduce((sum, each) => sum + each.ids.length, 0)).toBe(count);
          expect(count <= maxIds || part.length === 1).toBe(true);
          packedGroups.push(...part);
        }
        expect(packedGroups).toEqual(groups.filter((each) => each.ids.length > 0));
      }),
    );
  });

  it('drops the oldest ids above its limit, and returns how many', () => {
    fc.assert(
      fc.property(fc.array(group), fc.integer({ min: 5, max: 12 }), (groups, limit) => {
        const buffer = new ConfirmBuffer(limit);
        let dropped = 0;
        for (const each of groups) {
          dropped += buffer.add(each);
          expect(buffer.size).toBeLessThanOrEqual(limit);
        }
        const all = groups.flatMap((each) => each.ids);
        expect(dropped + buffer.size).toBe(all.length);
        expect(unpack(packConfirms(buffer.next(1_000).groups)).flatMap((each) => each.ids)).toEqual(
          all.slice(dropped),
        );
      }),
    );
  });
});
